"""Every change this package makes to somebody else's objects, each with the way back.

`Patches` is an undo log: methods replaced on classes, attributes and list items, taken back in reverse order. Taking
back never fails and never overwrites a change that somebody else made in the meantime.

Instances keep their type, so ``type(self) is MyDataset`` holds in the user's code. A method is replaced on the class
that defines it, for all instances of that class; the replacement looks up whether an instance is followed. An instance
is followed in one method only, the outermost: the one that its own class resolves to. So ``super().__getitem__`` of a
followed instance opens no second span.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, MutableMapping, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple

from annotate.hooks.stand_ins import Followed, Make, Method, original_of, replacement
from annotate.recording import switch
from annotate.recording.definitions import define
from annotate.saying import guard
from annotate.trace_format import StageKind

_MISSING = object()
_NO_HOMES: Final = frozenset({"annotate", "torch", "builtins", "abc", "typing", "collections"})
"""Packages whose modules are not searched for copies of functions."""
_MOST_INSIDE: Final = 32
"""Of a watched list, and of one in it: a longer one holds samples, unless it begins with what can be called."""
_HEAP_TYPE: Final = 1 << 9
"""Of ``type.__flags__``: made by a class statement, so that its attributes may be set."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How calls of a method are timed: the kind of span, and what makes the replacement."""

    kind: StageKind
    make: Make
    suffix: str = ""
    """Ends the span's label, which begins with the name of the instance's class."""


@dataclass(slots=True)
class Replaced:
    """A method that has been replaced on a class."""

    owner: type
    name: str
    original: Method
    make: Make
    followed: Followed
    now: Method

    def make_again(self) -> None:
        """Put in a new replacement, made to fit the recorder that is in force now."""
        if vars(self.owner).get(self.name) is self.now:
            self.now = replacement(self.make, self.original, self.followed)
            type.__setattr__(self.owner, self.name, self.now)


class Watched(NamedTuple):
    """An attribute that somebody may set anew while a session is on."""

    holder: object
    name: str
    parts: tuple[int, ...]
    time: Callable[[Patches, object, str], None]


def _parts(held: object) -> tuple[int, ...]:
    """The identity of an object, and of a list's items, also of those of short lists in it."""
    if type(held) is not list or (len(held) > _MOST_INSIDE and not callable(held[0])):
        return (id(held),)
    inner = (id(step) for item in held if type(item) is list and len(item) <= _MOST_INSIDE for step in item)
    return (id(held), *map(id, held), *inner)


class Patches:
    """What has been changed since `undo` was last called."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: dict[int, object] = {}
        self._kept_alive: list[object] = []
        """Objects that are followed by their id, which must stay theirs."""
        self._done: set[str] = set()
        self._replaced: dict[tuple[type, str], Replaced | None] = {}
        self._globals: list[tuple[ModuleType, str, object, object]] = []
        self._homes: dict[str, ModuleType] = {}
        """Modules of what is timed, by name: where ``from cv2 import imread`` may have made a copy."""
        self._watched: dict[tuple[int, str], Watched] = {}
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self._undo)

    def first_visit(self, obj: object) -> bool:
        """True once for each object; keeps it alive so that its id stays its own."""
        if id(obj) in self._seen:
            return False
        self._seen[id(obj)] = obj
        for cls in type(obj).__mro__:
            self.add_home(cls.__module__)
        return True

    def visit_again(self) -> None:
        """Make `first_visit` true again for each object; those that are followed stay followed."""
        self._kept_alive.extend(self._seen.values())
        self._seen.clear()

    def _make_methods_again(self) -> None:
        """Build all replacements of methods again: each recorder needs its own form of them."""
        for replaced in self._replaced.values():
            if replaced is not None:
                replaced.make_again()

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

    def follow(self, obj: object, timings: Mapping[str, Timing], named_for: object = None) -> bool:
        """Time calls of these methods on `obj`; False when it has none of them, or none that can be replaced.

        Args:
            named_for: the object whose class names the stage and is its place in the code; None: `obj` itself.
        """
        cls = type(obj)
        name_of = cls if named_for is None else type(named_for)
        is_followed = False
        for name, timing in timings.items():
            method = own_method(cls, name)
            if method is None:
                continue
            replaced = self._replace(*method, cls, name, timing.make)
            if replaced is not None:
                marker = replaced.followed[id(obj)] = switch.hand_out(timing.kind, name_of.__name__ + timing.suffix)
                define(switch.HANDED_OUT[marker], (own_method(name_of, name) or method)[1])
                is_followed = True
        if is_followed:
            self._kept_alive.append(obj)
        return is_followed

    def _replace(self, owner: type, original: Method, cls: type, name: str, make: Make) -> Replaced | None:
        """The method's replacement, on `cls` itself when the class that defines it is written in C."""
        if not owner.__flags__ & _HEAP_TYPE:
            owner = cls
        if (owner, name) in self._replaced:
            return self._replaced[owner, name]
        followed: Followed = {}
        now = replacement(make, original, followed)
        before = vars(owner).get(name, _MISSING)
        try:
            type.__setattr__(owner, name, now)  # past the metaclass
        except TypeError:  # written in C, or made immutable
            self._replaced[owner, name] = None
            return None
        replaced = self._replaced[owner, name] = Replaced(owner, name, original, make, followed, now)
        self._undo.append(_back_on_class(replaced, before))
        if self._make_methods_again not in switch.refits:
            switch.refits.append(self._make_methods_again)
        return replaced

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

    def set_on_class(self, owner: type, name: str, value: object) -> bool:
        """``owner.name = value`` until `undo`, past the metaclass; False when the class does not allow it."""
        before = vars(owner)[name]
        try:
            type.__setattr__(owner, name, value)
        except TypeError:  # written in C, or made immutable
            return False

        def back() -> None:
            if vars(owner).get(name) is value:
                type.__setattr__(owner, name, before)

        self._undo.append(back)
        return True

    def on_undo(self, back: Callable[[], None]) -> None:
        """Have `back` called by `undo`. It never fails, and leaves alone what somebody else changed meanwhile."""
        self._undo.append(back)

    def set_global(self, module: ModuleType, name: str, value: object) -> None:
        """``module.name = value`` until `undo`, but not while `without_globals`; so too its copies in homes."""
        before = vars(module)[name]
        self._put_global(module, name, before, value)
        for home in self._homes.values():
            self._put_copies(home, {id(before): (before, value)})

    def add_home(self, name: object) -> None:
        """Replace functions that the module of this name has copies of, now and when others are replaced."""
        if not isinstance(name, str) or name in self._homes or name.partition(".")[0] in _NO_HOMES:
            return
        module = sys.modules.get(name)
        if isinstance(module, ModuleType):
            self._homes[name] = module
            self._put_copies(module, {id(before): (before, value) for _, _, before, value in self._globals})

    def stand_in_of(self, function: object) -> object | None:
        """What stands for a global function now; None where nothing does."""
        return next((value for _, _, before, value in self._globals if before is function), None)

    def _put_copies(self, home: ModuleType, replaced: Mapping[int, tuple[object, object]]) -> None:
        for name, held in list(vars(home).items()):
            if id(held) in replaced and replaced[id(held)][0] is held:
                self._put_global(home, name, *replaced[id(held)])

    def _put_global(self, module: ModuleType, name: str, before: object, value: object) -> None:
        self._globals.append((module, name, before, value))
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
        """Put the replaced globals in again, in a forked process: it began `without_globals`."""
        for module, name, before, value in self._globals:
            if vars(module).get(name) is before:
                setattr(module, name, value)

    def set_item(self, items: MutableSequence[Any], index: int, value: object) -> None:
        """``items[index] = value`` until `undo`, wherever it is in the list by then."""
        before = items[index]
        items[index] = value

        def back() -> None:
            for position, item in enumerate(items):
                if item is value:
                    items[position] = before

        self._undo.append(back)

    def set_value(self, values: MutableMapping[Any, Any], key: Any, value: object) -> None:
        """``values[key] = value`` until `undo`, unless it has been replaced by then."""
        before = values[key]
        values[key] = value

        def back() -> None:
            if values.get(key) is value:
                values[key] = before

        self._undo.append(back)

    def watch(self, holder: object, name: str, time: Callable[[Patches, object, str], None]) -> None:
        """Have `look_again` call `time` when ``holder.name`` is another object than now, or another list inside."""
        if name in getattr(holder, "__dict__", {}):
            self._watched[id(holder), name] = Watched(holder, name, _parts(vars(holder)[name]), time)

    def look_again(self) -> None:
        """Time what has been put in the place of a transform meanwhile; called before each batch that is made here."""
        with guard("annotate does not time a transform that was replaced"):
            for watched in list(self._watched.values()):
                now = vars(watched.holder).get(watched.name)
                if _parts(now) != watched.parts:
                    watched.time(self, watched.holder, watched.name)

    def undo(self) -> None:
        """Take everything back. The first error is raised after all the rest has been taken back."""
        error: BaseException | None = None
        if self._make_methods_again in switch.refits:
            switch.refits.remove(self._make_methods_again)
        while self._undo:
            error = _error_of(self._undo.pop()) or error  # a broken object must not keep the others patched
        self._seen.clear()
        self._done.clear()
        self._globals.clear()
        self._homes.clear()
        self._watched.clear()
        self._replaced.clear()
        self._kept_alive.clear()
        if error is not None:
            raise error


in_force: Patches | None = None
"""The changes of the session that is on; in a forked process, of the one that was on in its parent."""


early: Patches | None = None
"""Changes that were made before any session (`annotate.launch.others`); the next one takes them over with `adopted`."""


def adopted(own: Patches) -> Patches:
    """The changes of a session that begins: those that were made early, or its own."""
    global early
    found, early = early, None
    return own if found is None else found


def _error_of(action: Callable[[], None]) -> BaseException | None:
    try:
        action()
    except BaseException as error:
        return error
    return None


def _back_on_class(replaced: Replaced, before: object) -> Callable[[], None]:
    def back() -> None:
        if vars(replaced.owner).get(replaced.name) is not replaced.now:
            return
        if before is _MISSING:
            type.__delattr__(replaced.owner, replaced.name)
        else:
            type.__setattr__(replaced.owner, replaced.name, before)

    return back


def own_method(cls: type, name: str) -> tuple[type, Method] | None:
    """The class that defines a method for instances of `cls`, and the method.

    None when it is not an ordinary method: absent, switched off by ``None``, static, or a callable attribute.
    """
    for owner in cls.__mro__:
        if name in vars(owner):
            found = vars(owner)[name]
            is_method = callable(found) and not isinstance(found, (type, staticmethod, classmethod))
            return (owner, original_of(found)) if is_method else None
    return None
