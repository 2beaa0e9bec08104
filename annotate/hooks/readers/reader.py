"""What one library's file in this folder says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from annotate.hooks.patching import Patches
from annotate.trace_format import StageKind


class Hook(NamedTuple):
    """A function of a module, and the span that a call of it is."""

    module: str
    function: str
    kind: StageKind
    label: str


class Reader(NamedTuple):
    """A library that reads or decodes."""

    module: str
    """Hooked when this has been imported; no library is imported on behalf of the user."""
    hooks: tuple[Hook, ...] = ()
    install: Callable[[Patches], None] | None = None
    """Puts in what is more than replacing a function."""
