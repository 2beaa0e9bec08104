"""Whose code a module is: the user's program, or a library."""

from __future__ import annotations

import sys
from typing import Final

_INSTALLED: Final = ("site-packages", "dist-packages")
"""Folders that libraries are installed into."""


def are_of_one_body(one: str, other: str) -> bool:
    """Whether two modules, by their ``__module__``, are of one program, or of one package of a library's.

    A program is its script, what lies beside it, and packages of the user's, wherever they lie.
    """
    return one.partition(".")[0] == other.partition(".")[0] or (is_users(one) and is_users(other))


def is_users(module: str | None) -> bool:
    """Neither of the standard library, nor installed, nor ours."""
    root = (module or "").partition(".")[0]
    return root not in sys.stdlib_module_names and root not in ("annotate", "torch") and not is_installed(root)


def is_installed(root: str) -> bool:
    """Whether a top-level module lies where libraries are installed."""
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return any(f"/{part}/" in file.replace("\\", "/") for part in _INSTALLED)
