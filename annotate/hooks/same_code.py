"""Whether two modules are one body of code: of one package, or files of a user's that lie beside each other."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Final

INSTALLED: Final = ("site-packages", "dist-packages")
"""Folders that libraries are installed into."""


def are_of_one_body(one: str, other: str) -> bool:
    """Whether two modules, by their ``__module__``, are of one package, or of packages and scripts in one folder.

    A script with ``augment.py`` beside it is one program, as a package is. Libraries lie in one folder too: there each
    package is its own.
    """
    roots = _root(one), _root(other)
    if roots[0] == roots[1]:
        return True
    places = _place(roots[0]), _place(roots[1])
    return places[0] is not None and places[0] == places[1]


def is_installed(root: str) -> bool:
    """Whether a top-level module lies where libraries are installed."""
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return any(f"/{part}/" in file.replace("\\", "/") for part in INSTALLED)


def _root(module: str) -> str:
    """The top-level module or package. Of ``__main__`` what it was started as, where ``-m`` says so."""
    if module == "__main__":
        module = getattr(getattr(sys.modules.get(module), "__spec__", None), "name", None) or module
    return module.partition(".")[0]


def _place(root: str) -> Path | None:
    """The folder that a top-level module or package lies in; None where that is one of libraries, or unknown."""
    if is_installed(root):
        return None
    started = sys.modules.get("__main__") if root == _root("__main__") else None
    module = sys.modules.get(root, started)
    path = None if module is None else _path(module)
    with suppress(OSError):  # the folder of a notebook's kernel has been deleted
        folder = None if path is None else path.resolve().parent
        return None if folder is None or any(map(folder.is_relative_to, _standard_library())) else folder
    return None


def _path(module: ModuleType) -> Path | None:
    """The package's folder, or the module's file. A notebook has neither: it is where its kernel was started."""
    file = next(iter(getattr(module, "__path__", ())), None) or getattr(module, "__file__", None)
    if file is None and module.__name__ == "__main__":
        file = "__main__"
    return None if file is None else Path(file)


def _standard_library() -> Iterator[Path]:
    paths = sysconfig.get_paths()
    for name in ("stdlib", "platstdlib"):
        if path := paths.get(name):
            yield Path(path).resolve()
