"""Callables that a dataset keeps under any name: its own functions, the user's callable objects, lists of transforms.

Whether one of them is called for each sample is not known beforehand. So they make spans in a sample only, and what is
held but not called (a metric, a loss, a key function of a sampler) makes none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from types import FunctionType
from typing import Any, Final

from annotate.hooks import hugging_face
from annotate.hooks.kept import is_container, kept, kept_by, put, steps_in
from annotate.hooks.patching import Patches, Timing, own_method
from annotate.hooks.same_code import are_of_one_body
from annotate.hooks.stand_ins import Followed, Method, TimedCallable, callable_label
from annotate.hooks.transforms import (
    holds_transforms,
    holds_users_own,
    home_of,
    is_function,
    is_proxy,
    is_transform,
    is_users_own,
    time_attribute,
    time_held_as,
    time_steps,
    time_transform,
    times_itself,
    used_by,
)
from annotate.recording import switch
from annotate.recording.definitions import define
from annotate.trace_format import StageKind

_MOST_IN_A_SAMPLE: Final = 64
"""Spans of one function: a key for sorting is called for each element."""

_MOST_PLAIN: Final = 256
"""Objects that are looked at for steps, in one that a dataset keeps."""

_OF_DATA: Final = ("__getitem__", "__iter__", "__next__")
"""Methods of a dataset, a sampler, a loader."""

_KINDS: Final[dict[str, StageKind]] = {
    "decode": "decode",
    "load": "decode",
    "read": "read",
    "open": "read",
    "fetch": "read",
}
"""Part of a function's name, or of the attribute that holds it -> what it does; any other transforms."""


class HeldFunction(TimedCallable):
    """Stands for a plain function in an attribute; in a sample its calls are spans, up to `_MOST_IN_A_SAMPLE`."""

    __slots__ = ("_item", "_left")

    def __init__(self, target: Method, name: str) -> None:
        super().__init__(target, name)
        self._item = self._left = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING:
            try:
                return self.target(*args, **kwargs)
            except Exception as error:
                _left(self._name, error)
                raise
        thread = switch.thread.open
        if thread.items != self._item:
            self._item, self._left = thread.items, _MOST_IN_A_SAMPLE
        self._left -= 1
        if self._left < 0 or not switch.in_sample():
            return self.target(*args, **kwargs)
        return switch.call(self._name, self.target, args, kwargs)


def _left(name: str | None, error: BaseException) -> None:
    """While nothing is recorded: what was called outside of a sample is no stage, as when it is."""
    if switch.thread.open.noticed:
        switch.left(name, error)


def time_functions(patches: Patches, ds: object) -> None:
    """Time what a dataset keeps under other names than those of transforms, and what its own methods look up."""
    for name, value in kept_by(ds).items():
        if is_function(value) or is_transform(value) or is_users_own(value, ds):
            _time_one(patches, ds, name)
        elif is_container(value):
            _time_list(patches, ds, name, value)
        else:
            _time_object(patches, ds, value)
    for used in _used_in(ds):
        time_transform(patches, used)
    hugging_face.time_functions(patches, ds)


def _time_one(patches: Patches, ds: object, name: str) -> None:
    value = kept(ds, name)
    if not callable(value) or is_proxy(value):
        return
    if times_itself(patches, value):
        pass
    elif is_function(value):
        patches.add_home(home_of(value))
        stand_in = patches.stand_in_of(value) or _stand_in(value, _kind_of(name, value))
        put(patches, ds, name, stand_in)
    elif is_transform(value):
        time_attribute(patches, ds, name)
    else:
        _time_users_own(patches, value)
    patches.watch(ds, name, _time_one)


def _time_list(patches: Patches, holder: object, name: str, value: object) -> None:
    """The steps in a list or dict of a dataset, or of an object of the user's."""
    steps = steps_in(value)
    if not steps:
        return
    if holds_transforms(steps):
        time_held_as(patches, holder, name)
        return
    times_functions = holds_users_own(steps, holder)

    def stand_in(step: Any) -> object:
        if callable(step) and (is_proxy(step) or times_itself(patches, step)):
            return step
        if times_functions and is_function(step):
            patches.add_home(home_of(step))
            return patches.stand_in_of(step) or _stand_in(step, _kind_of(name, step))
        _time_object(patches, holder, step)
        return step

    time_steps(patches, holder, name, stand_in)


def _time_users_own(patches: Patches, value: object) -> None:
    """An object of the user's, and the steps that it keeps: of its own package, or of known libraries."""
    if not patches.first_visit(value):
        return
    patches.follow(value, _IN_SAMPLE)
    for name, held in kept_by(value).items():
        if is_container(held):
            _time_list(patches, value, name, held)
        elif not (callable(held) and times_itself(patches, held)):
            _time_object(patches, value, held)


def _time_object(patches: Patches, holder: object, value: object) -> None:
    """What a dataset, or an object of the user's, keeps beside functions and lists."""
    if is_transform(value):
        time_transform(patches, value)
    elif is_users_own(value, holder) or _has_users_steps(value, holder):
        _time_users_own(patches, value)


def _has_users_steps(value: object, holder: object) -> bool:
    """A plain object of the user's, which keeps a list of what can be called, or another such object: the configuration
    of a pipeline.
    """
    waiting, seen = [(value, holder)], {id(value)}
    while waiting and len(seen) <= _MOST_PLAIN:
        current, its = waiting.pop()
        if not _is_plain(current, its):
            continue
        for held in kept_by(current).values():
            steps = steps_in(held) if is_container(held) else []
            if steps and (holds_transforms(steps) or holds_users_own(steps, current)):
                return True
            inner = [each for each in (steps or [held]) if id(each) not in seen]
            seen.update(map(id, inner))
            waiting += [(each, current) for each in inner]
    return False


def _is_plain(value: object, holder: object) -> bool:
    cls = type(value)
    if callable(value) or not are_of_one_body(cls.__module__, type(holder).__module__):
        return False
    return not any(name in vars(base) for base in cls.__mro__ for name in _OF_DATA)


def _stand_in(function: Method, kind: StageKind) -> HeldFunction:
    name = switch.hand_out(kind, callable_label(function))
    define(switch.HANDED_OUT[name], function)
    return HeldFunction(function, name)


def _kind_of(name: str, function: Method) -> StageKind:
    words = f"{name} {callable_label(function)}".lower()
    return next((kind for word, kind in _KINDS.items() if word in words), "transform")


def _used_in(ds: object) -> Iterator[object]:
    """Transforms of known libraries in the closure or the module of the methods that make a sample."""
    for name in ("__getitem__", "__getitems__", "__iter__"):
        method = own_method(type(ds), name)
        if method is not None and isinstance(method[1], FunctionType):
            yield from filter(is_transform, used_by(method[1]))


def _timed_in_sample(method: Method, followed: Followed) -> Method:
    @wraps(method)
    def timed(self: object, /, *args: Any, **kwargs: Any) -> Any:
        if not switch.RECORDING:
            try:
                return method(self, *args, **kwargs)
            except Exception as error:
                _left(followed.get(id(self)), error)
                raise
        if id(self) not in followed or not switch.in_sample():
            return method(self, *args, **kwargs)
        return switch.call(followed[id(self)], method, (self, *args), kwargs)

    return timed


_IN_SAMPLE: Final = {"__call__": Timing("transform", _timed_in_sample)}
