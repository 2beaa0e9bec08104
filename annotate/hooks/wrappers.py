"""What stands between a DataLoader and the loop: iterables and generators that hold it, and their own code as spans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from types import GeneratorType
from typing import Any, Final, NamedTuple

from annotate.hooks import fastai_loaders
from annotate.hooks.patching import Patches, Timing
from annotate.hooks.stand_ins import Followed, Method
from annotate.recording import switch
from annotate.recording.definitions import define_code
from annotate.trace_format import FIRST_BATCH

_DEEPEST: Final = 4
"""Wrappers inside wrappers that are looked through."""
_MOST: Final = 256
"""Objects that are looked at."""


on_handed_on: Callable[[], None] | None = None
"""Called when a generator of a loader's class has given its loop a batch (`waited_for`). It must not raise."""


on_own_batch: Callable[[], None] | None = None
"""Called when a library's own iterator has given its loop a batch (`batch_of`). It must not raise."""


class Path(NamedTuple):
    """From what the loop iterates to the DataLoaders behind it."""

    loaders: list[object]
    wrappers: list[object]
    """Iterables in between, without the outermost: its code is what the wait has beside theirs."""
    generators: list[HeldGenerator]
    """Generators in between that are an attribute of an object."""


class HeldGenerator(NamedTuple):
    holder: object
    attribute: str
    generator: GeneratorType[Any, Any, Any]


def path_to_loaders(given: object) -> Path:
    """The DataLoaders that `given` is or holds, and the wrappers on the way."""
    path = Path([], [], [])
    if isinstance(given, type):
        return path
    if looks_like_loader(given):
        return Path([fastai_loaders.followed(given)], [], [])
    seen: dict[int, object] = {}
    _look(given, 0, seen, path)
    return path


def _look(holder: object, depth: int, seen: dict[int, object], path: Path) -> bool:
    """Whether a DataLoader is behind `holder`."""
    is_on_the_way = False
    for held in _held_by(holder):
        if id(held) in seen or len(seen) >= _MOST:
            continue
        seen[id(held)] = held
        if _is_loader(held):
            path.loaders.append(fastai_loaders.followed(held))
            is_on_the_way = True
        elif depth < _DEEPEST and _is_iterable(held) and _look(held, depth + 1, seen, path):
            path.wrappers.append(held)
            path.generators.extend(_attributes_with(held, holder))
            is_on_the_way = True
    return is_on_the_way


def _attributes_with(held: object, holder: object) -> list[HeldGenerator]:
    """The attribute of `holder` that is the generator `held`; none where that is no generator, or held otherwise."""
    if not isinstance(held, GeneratorType) or isinstance(holder, GeneratorType):
        return []
    return [HeldGenerator(holder, name, held) for name, value in vars(holder).items() if value is held][:1]


def _held_by(holder: object) -> list[object]:
    frame = holder.gi_frame if isinstance(holder, GeneratorType) else None
    values = list(frame.f_locals.values()) if frame is not None else list(getattr(holder, "__dict__", {}).values())
    return values + [item for value in values if isinstance(value, (list, tuple)) for item in value[:_MOST]]


def _is_loader(held: object) -> bool:
    homes = (sys.modules.get("torch.utils.data"), fastai_loaders.module())
    return any(home is not None and isinstance(held, home.DataLoader) for home in homes)


def _is_iterable(held: object) -> bool:
    """True for generators, and for objects of classes in Python that can be iterated."""
    return isinstance(held, GeneratorType) or (hasattr(type(held), "__iter__") and hasattr(held, "__dict__"))


def looks_like_loader(given: object) -> bool:
    """True for what has a collate function or a dataset of its own, not one that it makes up when it is asked."""
    return any(
        name in getattr(given, "__dict__", {}) or hasattr(type(given), name) for name in ("collate_fn", "dataset")
    )


def time_wrapper(patches: Patches, wrapper: object) -> None:
    """Time an iterable's own code, until the undo; a generator cannot be timed from outside."""
    if not isinstance(wrapper, GeneratorType) and patches.first_visit(wrapper):
        patches.follow(wrapper, _WRAPPER)


def time_generator(patches: Patches, held: HeldGenerator) -> None:
    """Have a `TimedGenerator` stand in the attribute that holds a generator, until the undo.

    The undo puts the generator back wherever the holder has the stand-in by then (``self.it = iter(self.inner)``).
    """
    if not patches.first_visit(held.generator):
        return
    attributes = vars(held.holder)
    name = switch.hand_out("wrapper", label_of(held.generator))
    define_code(switch.HANDED_OUT[name], held.generator.gi_code)
    stand_in = TimedGenerator(held.generator, name)

    def back() -> None:
        for name in [name for name, value in attributes.items() if value is stand_in]:
            attributes[name] = held.generator

    attributes[held.attribute] = stand_in  # past a __setattr__ of the user's
    patches.on_undo(back)


def label_of(iterable: object) -> str:
    """The class of an iterable, or the function that a generator came from."""
    name = iterable.__name__ if isinstance(iterable, GeneratorType) else type(iterable).__name__
    return type(iterable).__name__ if name.startswith("<") else name  # a generator expression


def _timed_iter(method: Method, followed: Followed) -> Method:
    @wraps(method)
    def __iter__(self: object) -> Any:  # noqa: N807
        iterator, name = method(self), followed.get(id(self))
        return iterator if name is None or iterator is self else TimedSteps(iterator, name)

    return __iter__


class TimedSteps:
    """The iterator of a wrapper with each ``next()`` in a `wrapper` span. Everything else is the real iterator's."""

    __slots__ = ("_iterator", "_name")

    def __init__(self, iterator: Iterator[Any], name: str) -> None:
        self._iterator = iterator
        self._name = name

    def __iter__(self) -> TimedSteps:
        return self

    def __next__(self) -> Any:
        return timed_next(self._name, self._iterator)

    def __getattr__(self, name: str) -> Any:
        if name in TimedSteps.__slots__:  # only while unpickling or copying: not there yet
            raise AttributeError(name)
        return getattr(self._iterator, name)


class TimedGenerator(TimedSteps):
    """Stands for a generator in an attribute while a session is on: its class, pickles and copies are a generator's."""

    __slots__ = ("__weakref__",)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that isinstance() answers as for the generator
        return type(self._iterator)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._iterator.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self._iterator)


def timed_next(name: str | None, iterator: Iterator[Any]) -> Any:
    """``next(iterator)``, in a span while something records."""
    if name is None or not switch.RECORDING:
        return next(iterator)
    step: Callable[[Iterator[Any]], Any] = next
    return switch.call(name, step, (iterator,), {})


def timed_wait(name: str, function: Callable[..., Any], *args: Any) -> Any:
    """A call in a `wait` span while something records, unless the loop waits in an iterator around this one.

    In a DataLoader worker nothing of it is the training loop's wait: the sample has that time.
    """
    thread = switch.thread.open
    if not switch.RECORDING or thread.waiting or switch.poll is not None:
        return function(*args)
    thread.waiting = True
    try:
        return switch.call(name, function, args, {})
    finally:
        thread.waiting = False


def batch_of(label: str, function: Callable[..., Any], iterator: object) -> Any:
    """The next batch of an iterator that is none of torch's, by its own ``next()``: a `wait` while one records."""
    batch = timed_wait(switch.hand_out("wait", label), function, iterator) if switch.RECORDING else function(iterator)
    if on_own_batch is not None:
        on_own_batch()
    return batch


def waited_for(batches: Generator[Any, Any, Any], label: str) -> Generator[Any, None, Any]:
    """A generator of batches, each ``next()`` of which is a `wait` while something records."""
    name, later = switch.hand_out("wait", label + FIRST_BATCH), switch.hand_out("wait", label)
    try:
        while True:
            try:
                batch = timed_wait(name, next, batches)
            except StopIteration as end:
                return end.value
            name = later
            if on_handed_on is not None:
                on_handed_on()
            yield batch
            del batch  # the loader may reuse its memory
    finally:
        batches.close()


def _timed_own_next(method: Method, followed: Followed) -> Method:
    @wraps(method)
    def __next__(self: object) -> Any:  # noqa: N807
        name = followed.get(id(self)) if switch.RECORDING else None
        return method(self) if name is None else switch.call(name, method, (self,), {})

    return __next__


_WRAPPER: Final = {"__iter__": Timing("wrapper", _timed_iter), "__next__": Timing("wrapper", _timed_own_next)}
