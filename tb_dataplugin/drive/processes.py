"""Processes of this machine, as /proc has them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import BadRequest

PROC: Final = Path("/proc")
_TO_START: Final = ("PATH", "LD_LIBRARY_PATH")
"""What a Python may need to start."""


class NoPython(Exception):
    """The text is a clause: why nothing can be run by the Python of a process."""


def check(pid: int) -> None:
    """Raises BadRequest for a process that is not there, or that we may not look at."""
    if not (PROC / str(pid)).is_dir():
        raise BadRequest(f"there is no process {pid}; `pgrep -af python` lists those of Python")
    try:
        (PROC / str(pid) / "environ").read_bytes()
    except PermissionError:
        raise BadRequest(f"process {pid} belongs to another user; attach as that user, or as root") from None
    except OSError as error:
        raise BadRequest(f"cannot look at process {pid}: {error.strerror or error}") from None


def environment(pid: int) -> dict[str, str]:
    """With which it was started; empty where it cannot be read."""
    found: dict[str, str] = {}
    with suppress(OSError):
        for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            name, equals, value = entry.partition(b"=")
            if equals:
                found[os.fsdecode(name)] = os.fsdecode(value)
    return found


def with_descendants(pid: int) -> list[int]:
    """It, its children, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    found = [pid]
    for each in found:
        found += sorted(children.get(each, []))
    return found


def parents() -> dict[int, int]:
    """Of every process of this machine."""
    found: dict[int, int] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                found[int(entry.name)] = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return found


def has_torch(pid: int) -> bool:
    """Whether it has loaded libtorch."""
    try:
        return "libtorch" in (PROC / str(pid) / "maps").read_text(errors="replace")
    except OSError:
        return False


def python_of(pid: int) -> tuple[str, ...]:
    """The command of the Python that runs it, with nothing but its standard library. Raises: NoPython."""
    try:
        python = (PROC / str(pid) / "exe").readlink()
    except OSError as error:
        raise NoPython(error.strerror or str(error)) from None
    if not python.name.startswith("python") or not python.exists():
        raise NoPython(f"it is run by {python}, which is not a Python that can run a script of ours")
    return str(python), "-I", "-S", "-E"


def to_start_python(pid: int) -> dict[str, str]:
    """The environment for that command."""
    return {name: value for name, value in environment(pid).items() if name in _TO_START}
