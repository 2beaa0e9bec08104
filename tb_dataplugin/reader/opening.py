"""Opens a trace file once and checks what was opened: not a device, and not the target of a link outside.

A link in a log directory is written by whoever may write there, and read by whoever looks at it, such as a TensorBoard
that others can reach. So captures are read only where they lie inside of the log directory, unless the user allows
links. Everything is asked of the open file, so that exchanging the path meanwhile gains nothing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from tb_dataplugin.errors import UnreadableTrace

ENVIRONMENT: Final = "TB_DATAPLUGIN_FOLLOW_LINKS"
"""1: captures and folders that links lead to outside of the log directory are read too."""

ALLOW: Final = f"copy it there, or set {ENVIRONMENT}=1 if whoever can write there may show any file that you can read"

_FLAGS: Final = sum(getattr(os, flag, 0) for flag in ("O_RDONLY", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))

Roots = Sequence[Path]
"""Folders in which a file must lie; none: anywhere. They may be links themselves: the user named them."""


def follows_links(environment: Mapping[str, str] = os.environ) -> bool:
    return environment.get(ENVIRONMENT, "").lower() in ("1", "true", "yes", "on")


def roots_of(folders: Sequence[Path], environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """What captures below these folders may lead to."""
    return () if follows_links(environment) else tuple(Path(folder).absolute() for folder in folders)


def open_trace(path: Path, roots: Roots = ()) -> BinaryIO:
    """The file, opened. Raises OSError, and UnreadableTrace for what is not a regular file or lies outside `roots`."""
    try:
        _check_kind(path, path.stat())  # opening some devices does something
        descriptor = os.open(path, _FLAGS)
    except ValueError:  # NUL in a path
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    try:
        facts = os.fstat(descriptor)
        _check_kind(path, facts)
        if roots and not lies_in(_place(descriptor, path, facts), roots):
            raise leads_out(path)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def leads_out(path: Path) -> UnreadableTrace:
    return UnreadableTrace(path, "it is a link that leads out of the log directory", ALLOW)


def lies_in(place: Path | None, roots: Roots) -> bool:
    """Whether the resolved path is one of the folders' or below."""
    return place is not None and any(place.is_relative_to(os.path.realpath(root)) for root in roots)


def _check_kind(path: Path, facts: os.stat_result) -> None:
    """A pipe or a device would be waited for without end."""
    if stat.S_ISDIR(facts.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(facts.st_mode):
        raise UnreadableTrace(path, "it is not a regular file", "copy the trace into a file and name that")


def _place(descriptor: int, path: Path, facts: os.stat_result) -> Path | None:
    """Where the open file lies, links resolved; None when the path leads to another file by now."""
    try:
        return Path(f"/proc/self/fd/{descriptor}").readlink()
    except OSError:  # not Linux
        resolved = Path(os.path.realpath(path))
        return resolved if os.path.samestat(resolved.lstat(), facts) else None
