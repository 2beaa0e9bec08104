"""The objects that the user marked. Marking changes nothing about an object.

Objects are remembered by identity, weakly where they allow it. A session (`capture.session`) times them while it is
on; an object marked during a session is timed at once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

from annotate.saying import guard, in_short

Role = Literal["transform", "dataset", "loader"]

_Reference = Callable[[], object | None]

_marked: Final[dict[tuple[Role, int], _Reference]] = {}

listener: Callable[[Role, object], None] | None = None
"""Called with every object that is marked while a session is on."""


on_stage: Callable[[], None] | None = None
"""Called when the user makes a stage; set with the first of annotate's names for users."""

follows_all = False
"""DataLoaders that nobody marked are followed too (`annotate.auto`). Read as ``marked.follows_all``."""

_skipped: Final[dict[int, weakref.ref[object]]] = {}


def follow_all(skipped: Iterable[object] = ()) -> None:
    """From now on follow every DataLoader but these."""
    global follows_all
    follows_all = True
    for loader in skipped:
        _skipped[id(loader)] = weakref.ref(loader)


def follow_marked_only() -> None:
    """Take `follow_all` back."""
    global follows_all
    follows_all = False
    _skipped.clear()


def is_skipped(loader: object) -> bool:
    known = _skipped.get(id(loader))
    return known is not None and known() is loader


def remember(role: Role, obj: object) -> None:
    """Remember `obj`; marking it again is harmless."""
    with guard(f"annotate does not time {in_short(obj)}"):
        key = (role, id(obj))
        known = _marked.get(key)
        if known is None or known() is not obj:
            _marked[key] = _reference(key, obj)
        if listener is not None:
            listener(role, obj)


def _reference(key: tuple[Role, int], obj: object) -> _Reference:
    def forget(dead: object) -> None:
        if _marked.get(key) is dead:
            del _marked[key]

    try:
        return weakref.ref(obj, forget)
    except TypeError:  # no __weakref__ slot
        return lambda: obj


def is_marked(role: Role, obj: object) -> bool:
    known = _marked.get((role, id(obj)))
    return known is not None and known() is obj


def objects() -> Iterator[tuple[Role, object]]:
    """The marked objects that are still alive, in the order in which they were marked."""
    known = _marked.copy()  # in one go: a list of its items may run the garbage collector, and that `forget`
    for (role, _), reference in known.items():
        obj = reference()
        if obj is not None:
            yield role, obj
