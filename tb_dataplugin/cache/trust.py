"""Whose a cache is: an entry is shown as a report, so only what this user wrote, and nobody else could, is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def distrust_folder(folder: Path) -> str | None:
    """Why entries in this folder are neither read nor written, as one line; None: they are. It need not exist."""
    try:
        facts = folder.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISDIR(facts.st_mode):
        return None  # nothing can be kept there, which is not an error
    if not is_own(facts):
        return (
            f"the cache {folder} is not used: it belongs to another user; set TB_DATAPLUGIN_CACHE to a folder of yours"
        )
    if others_may_write(facts):
        return f"the cache {folder} is not used: others may write in it; run chmod go-w on it, or name another folder"
    return None


def is_trusted_file(facts: os.stat_result) -> bool:
    """Whether an open file is this user's own, under no second name, and no other user may change it."""
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1 and is_own(facts) and not others_may_write(facts)


def is_own(facts: os.stat_result) -> bool:
    """Whether it is this user's; where users have no numbers (Windows) the folder's own rights must do."""
    return not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()


def others_may_write(facts: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and bool(facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
