"""Threads of OpenBLAS. numpy and scipy each bring a copy of it, which only a function of its own sets once loaded."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

MAPS: Final = Path("/proc/self/maps")
_NAMES: Final = [
    f"{before}openblas_{{verb}}_num_threads{after}" for before, after in product(("", "scipy_"), ("", "64_", "_64"))
]
"""As distributions rename it, so that several copies can be loaded at once."""


def set_threads(threads: int) -> None:
    """In this process, of all copies that are loaded; of none where the system does not list them."""
    for set_number in _functions("set"):
        set_number(threads)


def get_threads() -> list[int]:
    """Of each copy."""
    return [int(get_number()) for get_number in _functions("get")]


def _functions(verb: str) -> Iterator[Callable[..., Any]]:
    for path in _loaded():
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        known = (getattr(library, name.format(verb=verb), None) for name in _NAMES)
        yield from filter(None, known)


def _loaded() -> list[str]:
    try:
        lines = MAPS.read_text().splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[-1] for line in lines if "openblas" in line.rpartition("/")[2]}
    return sorted(path for path in paths if Path(path).exists())
