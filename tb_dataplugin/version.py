"""The version, in a module that imports nothing: the package itself refers to everything, if lazily."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.2.0.dev0"
