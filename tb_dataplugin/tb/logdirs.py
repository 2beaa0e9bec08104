"""Which folders TensorBoard was pointed at."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.remote import Url, place


@dataclass(frozen=True, slots=True)
class LogDir:
    """A folder to search; `name` stands before its runs' names when there are several ("" otherwise)."""

    name: str
    path: Path
    url: Url | None = None  # None: a local folder

    def __str__(self) -> str:
        return str(self.url or self.path)


MOST_LOOKED: Final = 1000
"""Folders that are looked into for a first file: a tree of more is not what somebody starts with."""


def is_bare(logdir: LogDir) -> bool:
    """Whether there is no file below it at all, of anybody's: then every tab of TensorBoard is empty."""
    if logdir.url is not None:
        return False
    for looked, (_, _, files) in enumerate(os.walk(logdir.path)):
        if looked >= MOST_LOOKED or any(not name.startswith(".") for name in files):
            return False
    return True


_REMOTE = re.compile(r"[A-Za-z][\w+.-]+://")
_NAMED = re.compile(r"(?P<name>[^:/\\]+):(?P<path>.+)")
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")


def logdirs_of(context: object) -> tuple[LogDir, ...]:
    """From ``--logdir`` or ``--logdir_spec``, whichever was given."""
    flags = getattr(context, "flags", None)
    spec = getattr(flags, "logdir_spec", "") or ""
    logdir = getattr(context, "logdir", "") or getattr(flags, "logdir", "") or ""
    if logdir:
        return (_logdir("", logdir),)
    return tuple(_spec_entry(entry) for entry in spec.split(",") if entry)


def _spec_entry(entry: str) -> LogDir:
    """``name:path`` or ``path``; a path may be an address, or begin with a Windows drive."""
    unnamed = _REMOTE.match(entry) or (os.name == "nt" and _DRIVE.match(entry))
    named = None if unnamed else _NAMED.fullmatch(entry)
    return _logdir(named["name"], named["path"]) if named else _logdir(entry, entry)


def _logdir(name: str, path: str) -> LogDir:
    found = place(path)
    return LogDir(name, Path(path), found) if isinstance(found, Url) else LogDir(name, Path(path).expanduser())
