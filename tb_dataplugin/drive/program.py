"""Which file a command names, and whether the Python in it would load us."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import CannotStart

_SHELL: Final = "/bin/sh"
_PYTHON: Final = re.compile(r"(python|pypy)[\d.]*t?")
_WITH_VALUE: Final = frozenset("WXcm")
"""Options of Python's that take the rest of their word, or the next one; `c` and `m` end the options."""
_LONGEST_SHEBANG: Final = 4096
_MASTERS: Final = {
    "I": "isolates it from the environment",
    "E": "has it ignore the environment",
    "S": "keeps `site` from being imported",
}


@dataclass(frozen=True, slots=True)
class Program:
    """A file that can be executed, and its arguments, its own name first."""

    path: str
    arguments: tuple[str, ...]


def find_program(command: Sequence[str], environment: Mapping[str, str]) -> Program:
    """As a shell would find it.

    Raises:
        CannotStart: it is not there (127), cannot be executed (126), or is a Python that would ignore us (125).
    """
    name = command[0]
    path = name if "/" in name else _on_path(name, environment.get("PATH", os.defpath))
    if not Path(path).exists():
        raise CannotStart(127, f"cannot run {name}: there is no such program; check its name, or give its path")
    if Path(path).is_dir():
        raise CannotStart(126, f"cannot run {name}: it is a folder; give a program in it")
    if not os.access(path, os.X_OK):
        remedy = f"did you mean `python {name}`?" if name.endswith(".py") else f"`chmod +x {name}` if it is a program"
        raise CannotStart(126, f"cannot run {name}: it is not executable; {remedy}")
    flag = _flag(command) or _flag_of_shebang(path)
    if flag is not None:
        raise CannotStart(
            125,
            f"cannot record {name}: Python's option -{flag} {_MASTERS[flag]}, so it would not load us; leave it out",
        )
    return Program(path, tuple(command))


def as_script(program: Program) -> Program:
    """A script without a shebang, as a shell runs it."""
    return Program(_SHELL, ("sh", program.path, *program.arguments[1:]))


def _on_path(name: str, folders: str) -> str:
    """The first that can be executed, else the first that is there, else the name."""
    there = [path for folder in folders.split(os.pathsep) if (path := Path(folder or ".") / name).is_file()]
    runs = [path for path in there if os.access(path, os.X_OK)]
    return str((runs or there or [Path(name)])[0])


def _flag_of_shebang(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            head = file.read(_LONGEST_SHEBANG)
    except OSError:
        return None
    if not head.startswith(b"#!"):
        return None
    return _flag(head[2:].split(b"\n")[0].decode("utf-8", "replace").split())


def _flag(command: Sequence[str]) -> str | None:
    """The option of a Python command with which it would not load us."""
    words = list(command)
    if words and Path(words[0]).name == "env":
        words = _behind_env(words[1:])
    if not words or not _PYTHON.fullmatch(Path(words[0]).name):
        return None
    rest = iter(words[1:])
    for word in rest:
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(rest, None)
            continue
        if not word.startswith("-") or word == "-":
            return None
        for place, letter in enumerate(word[1:], 2):
            if letter in _MASTERS:
                return letter
            if letter in _WITH_VALUE:
                if letter in "cm":
                    return None
                if place == len(word):
                    next(rest, None)
                break
    return None


def _behind_env(words: list[str]) -> list[str]:
    """What `env` runs: its own options and assignments left out."""
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if word in ("-S", "--split-string") and words:
            words = [*words[0].split(), *words[1:]]
        elif word in ("-u", "-C") and words:
            words.pop(0)
    return words
