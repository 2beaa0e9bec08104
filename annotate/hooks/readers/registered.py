"""Readers of the user's own: `annotate.register_reader`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from annotate.hooks.readers.reader import Hook
from annotate.saying import in_short
from annotate.trace_format import StageKind

KINDS: Final[tuple[StageKind, ...]] = ("read", "decode", "transform")

on_registered: Callable[[], None] | None = None
"""Called when a reader has been registered."""


class Registered(NamedTuple):
    """A function by its dotted path; what is sent to DataLoader workers."""

    path: str
    kind: StageKind
    label: str


_registered: Final[dict[str, Registered]] = {}


def register_reader(target: str | Callable[..., Any], *, kind: StageKind = "read", label: str | None = None) -> None:
    """Have every call of a function of your own recorded as a `read`, `decode` or `transform` span.

        annotate.register_reader("mylib.read_blob", kind="read")
        annotate.register_reader(mylib.Store.get, kind="decode", label="store")

    The function is neither imported nor changed now: it is hooked while something records, in this process and in
    DataLoader workers, and put back afterwards. Methods are hooked on their class, for all its instances.

    Args:
        target: a function or method, or its dotted path, whose module may be imported later.
        label: names the span; the dotted path if left out.

    Raises:
        ValueError: `kind` is none of the three; the path is none; the module has no such name; the function is local to
            another one, or a lambda, and so has no path.
        TypeError: `target` is neither a path nor a function.
    """
    if kind not in KINDS:
        raise ValueError(f"annotate.register_reader: kind is one of {', '.join(KINDS)}, not {in_short(kind)}")
    path = _checked_path(target) if isinstance(target, str) else _path_of(target)
    shown = path.removeprefix("__main__.")
    _registered[path] = Registered(path, kind, label or shown)
    if on_registered is not None:
        on_registered()


def hooks() -> Iterator[Hook]:
    """One for each registered function whose module has been imported."""
    for path, kind, label in list(_registered.values()):
        module = _imported(path)
        if module:
            yield Hook(module, path[len(module) + 1 :], kind, label)


def all_registered() -> tuple[Registered, ...]:
    return tuple(_registered.values())


def adopt(readers: Iterable[Registered]) -> None:
    """Know what was registered in the training process."""
    for reader in readers:
        _registered.setdefault(reader.path, reader)


def _imported(path: str) -> str:
    """The longest beginning of a path that is a module which has been imported; empty where there is none."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        if module in sys.modules:
            return module
    return ""


def _checked_path(path: str) -> str:
    parts = path.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise ValueError(
            f"annotate.register_reader: {in_short(path)} is not a dotted path. Give module and function, such as "
            '"mylib.read_blob"'
        )
    module = _imported(path)
    if module and module.count(".") + 1 == len(parts) - 1:  # all but the function's own name
        found = getattr(sys.modules[module], parts[-1], None)
        if found is None and not hasattr(sys.modules[module], "__getattr__"):
            raise ValueError(f"annotate.register_reader: the module {module} has no {parts[-1]!r}. Check the spelling")
        if found is not None and not callable(found):
            raise TypeError(f"annotate.register_reader takes a function, and {path} is {in_short(found)}")
    return path


def _path_of(target: object) -> str:
    function = getattr(target, "__func__", target)  # of a bound method
    if not callable(function) or isinstance(function, type):
        raise TypeError(
            f"annotate.register_reader takes a function or its dotted path, not {in_short(target)}. Pass a function, "
            'or a path such as "mylib.read_blob"'
        )
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None or inspect.unwrap(found) is not inspect.unwrap(function):
        raise ValueError(
            f"annotate.register_reader cannot find {name or in_short(target)} by its name again. Pass the dotted path "
            'under which it is called, such as "mylib.read_blob", or decorate it with @annotate.stage("read")'
        )
    return f"{module}.{name}"
