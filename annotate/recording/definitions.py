"""Where in the code each stage is defined: the class, the function or the ``annotate.stage`` call it is named for."""

from __future__ import annotations

import sys
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Final

from annotate.saying import guard

_places: Final[dict[str, tuple[str, int]]] = {}
"""Span name -> file and line: of the latest that was hooked, since a session hooks what it follows."""
_OURS: Final = str(Path(__file__).parent.parent)
_MOST_UNWRAPPED: Final = 16
_is_broken = False
"""A fault of ours was reported, once for the whole program."""


def define(name: str, by: object) -> None:
    """`by`: a function, a method, a class or a callable object. What has no Python code is left out."""
    global _is_broken
    if _is_broken:
        return
    _is_broken = True
    with guard("annotate does not know where stages are defined"):
        code = _code_of(by)
        if code is not None:
            define_code(name, code)
        _is_broken = False


def define_code(name: str, code: CodeType) -> None:
    _places[name] = (code.co_filename, code.co_firstlineno)


def define_here(name: str, depth: int) -> None:
    """By the line that is being run `depth` frames above the caller of this function."""
    if name not in _places:
        with suppress(ValueError):  # no Python code has called
            frame = sys._getframe(depth + 1)
            _places[name] = (frame.f_code.co_filename, frame.f_lineno)


def places(names: Collection[str]) -> dict[str, str]:
    """``file:line`` of those names that are known, and whose code is not ours."""
    known = ((name, *_places[name]) for name in sorted(names) if name in _places)
    return {name: f"{file}:{line}" for name, file, line in known if not file.startswith(_OURS)}


def _code_of(by: object) -> CodeType | None:
    """The code below decorators and partials. No attribute of an object of the user's is asked for."""
    for _ in range(_MOST_UNWRAPPED):
        if isinstance(by, partial):
            by = by.func
        elif isinstance(by, MethodType):
            by = by.__func__
        elif isinstance(by, FunctionType) and "__wrapped__" in by.__dict__:
            by = by.__dict__["__wrapped__"]
        else:
            break
    if isinstance(by, FunctionType):
        return by.__code__
    cls, names = (by, ("__init__", "__call__")) if isinstance(by, type) else (type(by), ("__call__",))
    found = (vars(base).get(name) for name in names for base in type.mro(cls))
    return next((method.__code__ for method in found if isinstance(method, FunctionType)), None)
