"""What an object keeps: attributes of its own and of its class, and the steps in lists, tuples and dicts, also nested.

Looking runs no code of the user's: no property or other descriptor, no `__getattr__`, no method of a list's subclass.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import MemberDescriptorType
from typing import Any, Final

from annotate.hooks.patching import Patches

MOST_IN_A_LIST: Final = 32
"""Longer ones hold samples."""

_DEEPEST: Final = 4
"""Lists in each other."""

_MOST_IN_ALL: Final = 256
"""Steps of one attribute, in all of its lists together: more are data."""

_CONTAINERS: Final = (list, tuple, dict)


def kept_by(holder: object) -> dict[str, Any]:
    """The attributes of an object, its slots and those of its class, by name; of a class no methods or properties.

    Dunder names of a class are Python's, and classes of torch and of the standard library keep nothing of the user's.
    """
    found = dict(_own(holder))
    seen = set(found)
    for cls in type(holder).__mro__:
        is_searched = not _is_plumbing(cls)
        for name, value in list(vars(cls).items()):
            if name in seen:
                continue
            seen.add(name)
            if not is_searched or name.startswith("__"):
                continue
            if type(value) is MemberDescriptorType:
                found.update(_slot(holder, name, value))
            elif not _has(value, "__get__"):
                found[name] = value
    return found


def kept(holder: object, name: str) -> Any:
    """One of `kept_by`, or None."""
    return kept_by(holder).get(name)


def put(patches: Patches, holder: object, name: str, value: object) -> bool:
    """Have ``holder.name`` be `value` until the undo, in the place that it is kept in: the object, or its class."""
    own = _own(holder)
    if name in own:
        patches.set_value(own, name, value)  # past a __setattr__ of the user's
        return True
    owner = next((cls for cls in type(holder).__mro__ if name in vars(cls)), None)
    if owner is not None and type(slot := vars(owner)[name]) is MemberDescriptorType:
        return _put_into_slot(patches, holder, slot, value)
    if owner is None or _has(vars(owner)[name], "__set__"):  # a property
        return patches.set_attribute(holder, name, value)
    return patches.set_on_class(owner, name, value)


def is_container(value: object) -> bool:
    return issubclass(type(value), _CONTAINERS)


def steps_in(value: object) -> list[Any]:
    """What a list, tuple or dict keeps, and what those inside of it do: nothing, where it is long, or has too much.

    A list in it that is long, or too deep, is one step, which cannot be called.
    """
    if not is_container(value) or _length(value) > MOST_IN_A_LIST:
        return []
    found: list[Any] = []
    waiting: list[tuple[object, int]] = [(value, 0)]
    for looked_at in range(_MOST_IN_ALL):
        if not waiting:
            return found
        current, depth = waiting.pop()
        if looked_at and not (depth < _DEEPEST and _is_looked_into(current)):
            found.append(current)
        else:
            waiting += [(item, depth + 1) for item in reversed(_items(current))]
    return [] if waiting else found


def put_into(patches: Patches, value: Any, stand_in: Callable[[Any], object]) -> object:
    """Have each step of a list, tuple or dict be its stand-in until the undo, also in those inside of it.

    Args:
        stand_in: gives a step's stand-in, or the step itself.

    Returns:
        `value`; of a tuple that has a stand-in, another one.
    """
    if _length(value) > MOST_IN_A_LIST and not callable(next(_iterator(value))):
        return value
    return _Putting(patches, stand_in).into(value, 0)


class _Putting:
    """One call of `put_into`: each list once, however often it is kept, also in itself."""

    def __init__(self, patches: Patches, stand_in: Callable[[Any], object]) -> None:
        self._patches = patches
        self._stand_in = stand_in
        self._done: dict[int, tuple[object, object]] = {}
        self._left = _MOST_IN_ALL
        """Lists to look into."""

    def into(self, value: Any, depth: int) -> object:
        if depth and not (depth < _DEEPEST and _is_looked_into(value)):
            return value if is_container(value) else self._stand_in(value)
        if id(value) in self._done:
            return self._done[id(value)][1]
        self._left -= 1
        if self._left < 0:
            return value
        self._done[id(value)] = value, value
        if issubclass(type(value), tuple):
            items = [self.into(item, depth + 1) for item in _items(value)]
            is_other = any(now is not before for now, before in zip(items, _items(value), strict=True))
            if is_other and (type(value) is tuple or _is_named(value)):
                self._done[id(value)] = value, tuple.__new__(type(value), items)  # a named one stays one
        elif issubclass(type(value), dict):
            for key, item in list(dict.items(value)):
                if (now := self.into(item, depth + 1)) is not item:
                    self._patches.set_value(value, key, now)
        else:
            for index, item in enumerate(_items(value)):
                if (now := self.into(item, depth + 1)) is not item:
                    self._patches.set_item(value, index, now)
        return self._done[id(value)][1]


def _own(holder: object) -> dict[str, Any]:
    """``holder.__dict__``, past its `__getattr__`."""
    try:
        own = object.__getattribute__(holder, "__dict__")
    except Exception:
        return {}
    return own if isinstance(own, dict) else {}


def _slot(holder: object, name: str, slot: MemberDescriptorType) -> dict[str, Any]:
    try:
        return {name: slot.__get__(holder, type(holder))}
    except AttributeError:  # empty
        return {}


def _put_into_slot(patches: Patches, holder: object, slot: MemberDescriptorType, value: object) -> bool:
    """The same of a slot, past a __setattr__ of the user's: that of a frozen dataclass raises."""
    before = slot.__get__(holder, type(holder))
    try:
        slot.__set__(holder, value)
    except (AttributeError, TypeError):  # of a class that is written in C
        return False

    def back() -> None:
        with suppress(AttributeError):  # emptied meanwhile
            if slot.__get__(holder, type(holder)) is value:
                slot.__set__(holder, before)

    patches.on_undo(back)
    return True


def _is_plumbing(cls: type) -> bool:
    root = str(cls.__module__).partition(".")[0]
    return root == "torch" or root in sys.stdlib_module_names


def _has(value: object, name: str) -> bool:
    """Whether the class of a value has a method."""
    return any(name in vars(cls) for cls in type(value).__mro__)


def _is_looked_into(value: object) -> bool:
    """A short list, tuple or dict inside of another one; nothing is known of subclasses, but of named tuples."""
    is_known = type(value) in (*_CONTAINERS, OrderedDict) or _is_named(value)
    return is_known and _length(value) <= MOST_IN_A_LIST


def _is_named(value: object) -> bool:
    return issubclass(type(value), tuple) and "_fields" in vars(type(value))


def _length(value: Any) -> int:
    """Of a container, not what a subclass says."""
    base = next(base for base in _CONTAINERS if issubclass(type(value), base))
    return base.__len__(value)


def _items(value: Any) -> list[Any]:
    return list(_iterator(value))


def _iterator(value: Any) -> Iterator[Any]:
    """Of a container, not what a subclass would load for it."""
    if issubclass(type(value), dict):
        return iter(dict.values(value))
    return list.__iter__(value) if issubclass(type(value), list) else tuple.__iter__(value)
