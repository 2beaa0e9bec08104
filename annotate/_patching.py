"""Every change this package makes to somebody else's objects, each with the way back.

`Patches` is an undo log: class swaps, replaced attributes and replaced list items, taken back in reverse order. Taking
back never fails and never overwrites a change that somebody else made in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, MutableSequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from annotate._timed import set_class, timed_subclass

_MISSING = object()

MethodsOf = Callable[[type], "dict[str, Callable[..., Any]]"]


class Patches:
    """What has been changed since `undo` was last called."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: dict[int, object] = {}
        self._done: set[str] = set()
        self._classes: dict[tuple[type, MethodsOf], type | None] = {}
        self._made: set[type] = set()
        self._globals: list[tuple[ModuleType, str, object, object]] = []
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self._undo)

    def first_visit(self, obj: object) -> bool:
        """True once for each object; keeps it alive so that its id stays its own."""
        if id(obj) in self._seen:
            return False
        self._seen[id(obj)] = obj
        return True

    def visit_again(self) -> None:
        """Have `first_visit` be true once more for each object; those with a timed class keep the one they have."""
        self._seen.clear()

    def make_methods_again(self) -> None:
        """Make the timed methods of every class once more: in a worker they are made to fit it."""
        for (base, methods_of), timed in self._classes.items():
            if timed is not None:
                for name, method in methods_of(base).items():
                    type.__setattr__(timed, name, method)  # past the metaclass

    def has_visited(self, obj: object) -> bool:
        return id(obj) in self._seen

    def once(self, key: str) -> bool:
        """True the first time that `key` is asked for."""
        if key in self._done:
            return False
        self._done.add(key)
        return True

    def note(self, text: str) -> None:
        """Keep a sentence for the trace's metadata."""
        if text not in self.notes:
            self.notes.append(text)

    def swap_class(self, obj: object, methods_of: MethodsOf) -> bool:
        """Give `obj` the timed subclass of its class; False when it has nothing to time or cannot be changed."""
        base = type(obj)
        if base in self._made:
            return True
        key = (base, methods_of)
        if key not in self._classes:
            self._classes[key] = self._timed_class(base, methods_of)
        timed = self._classes[key]
        if timed is None:
            return False
        self._made.add(timed)
        try:
            set_class(obj, timed)
        except TypeError:
            return False

        def back() -> None:
            if type(obj) is timed:
                set_class(obj, base)

        self._undo.append(back)
        return True

    @staticmethod
    def _timed_class(base: type, methods_of: MethodsOf) -> type | None:
        if not base.__flags__ & (1 << 9):  # not a heap type: written in C, its instances keep their class
            return None
        methods = methods_of(base)
        if not methods:
            return None
        try:
            return timed_subclass(base, methods)
        except TypeError:  # a final class, or a metaclass that allows no subclass
            return None

    def set_attribute(self, obj: Any, name: str, value: object) -> bool:
        """``obj.name = value`` until `undo`; False when `obj` does not allow it."""
        own = getattr(obj, "__dict__", {})
        before = own.get(name, _MISSING) if not isinstance(obj, type) else vars(obj).get(name, _MISSING)
        if before is _MISSING and getattr(obj, name, _MISSING) is _MISSING:
            return False
        if before is _MISSING and not isinstance(obj, type):
            before = getattr(obj, name)  # a slot or a property
        try:
            setattr(obj, name, value)
        except (AttributeError, TypeError, ValueError):
            return False

        def back() -> None:
            now = vars(obj).get(name) if isinstance(obj, type) else getattr(obj, name, None)
            if now is not value:
                return
            if before is _MISSING:
                delattr(obj, name)  # the class had inherited it
            else:
                setattr(obj, name, before)

        self._undo.append(back)
        return True

    def set_global(self, module: ModuleType, name: str, value: object) -> None:
        """``module.name = value`` until `undo`, but not while `without_globals`."""
        self._globals.append((module, name, vars(module)[name], value))
        self.set_attribute(module, name, value)

    @contextmanager
    def without_globals(self) -> Generator[None, None, None]:
        """Put every replaced global back for a moment.

        Functions are pickled by name, and only when that name leads to the very same object: a dataset that holds
        ``numpy.load`` could not be sent to a spawned worker otherwise.
        """
        held = [(m, name, before, value) for m, name, before, value in self._globals if vars(m).get(name) is value]
        for module, name, before, _ in held:
            setattr(module, name, before)
        try:
            yield
        finally:
            for module, name, before, value in held:
                if vars(module).get(name) is before:
                    setattr(module, name, value)

    def set_globals_again(self) -> None:
        """Put the replaced globals in once more: in a forked process, which began `without_globals`."""
        for module, name, before, value in self._globals:
            if vars(module).get(name) is before:
                setattr(module, name, value)

    def set_item(self, items: MutableSequence[Any], index: int, value: object) -> None:
        """``items[index] = value`` until `undo`, wherever it stands in the list by then."""
        before = items[index]
        items[index] = value

        def back() -> None:
            for position, item in enumerate(items):
                if item is value:
                    items[position] = before

        self._undo.append(back)

    def on_undo(self, action: Callable[[], None]) -> None:
        """Have `action` called by `undo`."""
        self._undo.append(action)

    def undo(self) -> None:
        """Take everything back. The first error is raised after all the rest has been taken back."""
        error: BaseException | None = None
        while self._undo:
            error = _error_of(self._undo.pop()) or error  # a broken object must not keep the others patched
        self._seen.clear()
        self._done.clear()
        self._globals.clear()
        self._classes.clear()
        self._made.clear()
        if error is not None:
            raise error


in_force: Patches | None = None
"""The changes of the session that is on; in a forked process, of the one that was on in its parent."""


def _error_of(action: Callable[[], None]) -> BaseException | None:
    try:
        action()
    except BaseException as error:
        return error
    return None


def own_methods(base: type, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Those of `names` that instances of `base` have as ordinary methods (not ``None``, not a data attribute)."""
    found: dict[str, Callable[..., Any]] = {}
    for name in names:
        raw = next((vars(c)[name] for c in base.__mro__ if name in vars(c)), None)
        if callable(raw) and not isinstance(raw, (type, staticmethod, classmethod)):
            found[name] = raw
    return found
