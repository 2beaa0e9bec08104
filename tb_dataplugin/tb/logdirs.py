"""Which folders TensorBoard was pointed at."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LogDir:
    """A folder to search; `name` stands before its runs' names when there are several ("" otherwise)."""

    name: str
    path: Path
    problem: str = ""  # why it cannot be searched; "" when it can


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
    if _REMOTE.match(path):
        return LogDir(
            name, Path(path), f"{path} is remote: captures are read from local or mounted folders only; mount it"
        )
    return LogDir(name, Path(path).expanduser())
