"""Which objects the user asked to have timed. Registering changes nothing about an object.

Objects are remembered by identity and weakly where they allow it. A session (`capture.session`) times them while it is
on; what is registered during a session is timed at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Final, Literal

from annotate.saying import guard, in_short

Role = Literal["transform", "dataset", "loader"]

_Reference = Callable[[], object | None]

_registered: Final[dict[tuple[Role, int], _Reference]] = {}

listener: Callable[[Role, object], None] | None = None
"""The session that is on, told of every new object."""


def register(role: Role, obj: object) -> None:
    """Remember `obj`; harmless when it is known already."""
    with guard(f"annotate does not time {in_short(obj)}"):
        key = (role, id(obj))
        known = _registered.get(key)
        if known is None or known() is not obj:
            _registered[key] = _reference(key, obj)
        if listener is not None:
            listener(role, obj)


def _reference(key: tuple[Role, int], obj: object) -> _Reference:
    def forget(dead: object) -> None:
        if _registered.get(key) is dead:
            del _registered[key]

    try:
        return weakref.ref(obj, forget)
    except TypeError:  # no __weakref__ slot
        return lambda: obj


def registered() -> Iterator[tuple[Role, object]]:
    """What is still alive, in the order of registration."""
    known = _registered.copy()  # in one go: a list of its items may run the garbage collector, and that `forget`
    for (role, _), reference in known.items():
        obj = reference()
        if obj is not None:
            yield role, obj
