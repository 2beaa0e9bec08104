"""What one library's file in this folder says of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NamedTuple

from annotate.hooks.patching import Patches
from annotate.recording import switch
from annotate.trace_format import StageKind

When = Callable[..., bool]
"""Takes the arguments of a call, and says whether it is worth a span."""

WORTH_MARKING: Final = 4096
"""Bytes of JSON or of a pickle: what takes about 20 us, or ten times what its span costs."""


def in_sample(*args: Any, **kwargs: Any) -> bool:
    """Only while a sample is loaded: loggers, checkpoints and configurations use these functions as well."""
    return switch.in_sample()


def of_some_size(data: Any, *args: Any, **kwargs: Any) -> bool:
    """Only in a sample, and only where the data is not tiny."""
    return len(data) >= WORTH_MARKING and switch.in_sample()


def reads_some(self: object, size: int | None = -1, *args: Any) -> bool:
    """Only in a sample, and only reads of some size, or of all the rest: parsers ask for a few bytes at a time."""
    return (size is None or size < 0 or size >= WORTH_MARKING) and switch.in_sample()


_OPENING: Final = frozenset(
    ("open", "load", "read", "imread", "dcmread", "fromfile", "genfromtxt", "info", "stream", "memmap")
)
_METHODS: Final = ("__init__", "__new__")
_KEYWORDS: Final = ("file", "filename", "fname", "path", "fp", "filepath_or_buffer", "uri", "source", "name")


class Hook(NamedTuple):
    """A function of a module, and the span that a call of it is."""

    module: str
    function: str
    """Its name, or ``Class.method``."""
    kind: StageKind
    label: str
    """``library.function``, as users write it."""
    when: When | None = None
    """None: each call is a span."""
    steps: bool = False
    """It returns an iterator: each ``next()`` of that is a span, and the call is none."""
    of_part: When | None = None
    """Takes the arguments too, and says whether what they name is a mere part of a file that was named before."""

    @property
    def owner(self) -> ModuleType | type | None:
        """The module or class that has the function; None where it is not there. Imports nothing."""
        module = sys.modules.get(self.module)
        first, *inner = self.function.split(".")
        if module is None or not inner:
            return module
        found: Any = vars(module).get(first)  # not getattr: a lazy module would import what it is asked for
        for name in inner[:-1]:
            found = getattr(found, name, None)
        return found if isinstance(found, type) else None

    @property
    def name(self) -> str:
        return self.function.rpartition(".")[2]

    @property
    def path_at(self) -> int | None:
        """Which positional argument may be the path of a file; None: none is, as in functions that decode bytes."""
        if self.name in _METHODS or (self.name in _OPENING or self.name.startswith(("read_", "load_", "open_"))):
            return 1 if "." in self.function else 0
        return None


def given_path(at: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The argument at that place, or a keyword that libraries call a path by; None: not given."""
    if len(args) > at:
        return args[at]
    return next((kwargs[name] for name in _KEYWORDS if name in kwargs), None)


class Reader(NamedTuple):
    """A library that reads or decodes."""

    module: str
    """Hooked when this has been imported; no library is imported on behalf of the user."""
    hooks: tuple[Hook, ...] = ()
    install: Callable[[Patches], None] | None = None
    """Puts in what is more than replacing a function."""


def hooks_on(
    module: str, kind: StageKind, functions: dict[str, str], *, when: When | None = None, steps: bool = False
) -> tuple[Hook, ...]:
    """Hooks of one kind on several functions of a module, by their labels."""
    return tuple(Hook(module, function, kind, label, when, steps) for function, label in functions.items())
