"""Timing ``next()`` of iterators for whoever wants to: torch's own by a class of ours, users' in their class."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final, Protocol

from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import set_class, timed_subclass


class NextCall(Protocol):
    """Who stands around the calls of ``next()`` of one iterator."""

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """``method(iterator)``; what it raises is passed on."""


_OURS: Final = "_annotate_times_next"
_calls: Final[weakref.WeakKeyDictionary[Any, dict[type, NextCall]]] = weakref.WeakKeyDictionary()
_patches: Final = Patches()
"""Of the users' classes of iterators."""
_timed: Final[dict[type, type]] = {}
_bases: Final[dict[type, type]] = {}


def time_next(iterator: Any, call: NextCall) -> None:
    """Put `call` around ``next(iterator)``, in place of one of the same class: persistent workers keep their iterator.

    Those of several classes stand inside each other, the latest outermost.

    Raises:
        TypeError: the iterator's class does not allow it.
    """
    kind = type(iterator)
    if not kind.__module__.startswith("torch.utils.data"):
        if "__next__" not in vars(kind) or not hasattr(vars(kind)["__next__"], _OURS):
            _patches.set_attribute(kind, "__next__", _timed_next(kind.__next__))
    elif kind not in _bases:
        if kind not in _timed:
            _timed[kind] = timed_subclass(kind, {"__next__": _timed_next(kind.__next__)})
            _bases[_timed[kind]] = kind
        set_class(iterator, _timed[kind])
    _calls[iterator] = {**_calls.get(iterator, {}), type(call): call}


def leave_next(is_theirs: Callable[[NextCall], bool]) -> None:
    """Take out the calls of which `is_theirs` says so; an iterator that nobody times has its own class again."""
    for iterator, calls in list(_calls.items()):
        left = {kind: call for kind, call in calls.items() if not is_theirs(call)}
        if left:
            _calls[iterator] = left
            continue
        del _calls[iterator]
        if type(iterator) in _bases:
            set_class(iterator, _bases[type(iterator)])


def untime_classes() -> None:
    """Put the users' classes of iterators back, once nobody times any iterator."""
    if not any(_calls.values()):
        _patches.undo()


def _timed_next(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(method)
    def __next__(self: Any) -> Any:  # noqa: N807
        calls = _calls.get(self)
        if calls is None:
            return method(self)
        if len(calls) == 1:
            (only,) = calls.values()
            return only.next_of(self, method)
        call = method
        for each in calls.values():
            call = partial(each.next_of, method=call)
        return call(self)

    setattr(__next__, _OURS, True)
    return __next__


def forget() -> None:
    """In a forked child: nobody times anything."""
    _calls.clear()
