"""Inside a process that prepares batches for a monitor (`_monitor`): time by kind of stage, summed over one batch.

No span is kept. A worker measures the batches that the training process asks it to measure, and each batch takes its
sums along: `Watched` goes to the worker around the indices, `Tallied` comes back around the batch. As in `_parcel`,
both pickle as a call that gives the plain thing.
"""

from __future__ import annotations

import contextlib
import os
from _thread import get_ident
from collections import defaultdict
from collections.abc import Callable, Generator
from time import perf_counter_ns as clock
from typing import Any, Final

from annotate.hooks import readers, registry
from annotate.hooks.datasets import time_dataset
from annotate.hooks.loaders import time_registered
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import callable_label
from annotate.recording import switch
from annotate.workers.transport import Facts, Tagged

KINDS: Final = ("read", "decode", "transform", "collate")
Sums = tuple[int, ...]
"""Nanoseconds of self time in each of `KINDS`, and in all the rest of the work on the batch."""

arrived: Callable[[Facts, Sums | None], None] | None = None
"""In the training process: told when a batch comes in. May be called in torch's pinning thread."""

_sums: Final[defaultdict[str, int]] = defaultdict(int)
"""Self time by marker name."""
_inner = 0
"""Time in the children of the span that is open."""
_thread = 0


def call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
    """``function(*args, **kwargs)``, its time added to that of `name`."""
    global _inner
    if get_ident() != _thread:
        return function(*args, **kwargs)
    outer, _inner = _inner, 0
    start = clock()
    try:
        return function(*args, **kwargs)
    finally:
        took = clock() - start
        _sums[name] += took - _inner
        _inner = outer + took


def sample(name: str, index: object, function: Callable[..., Any], /, *args: Any) -> Any:
    """``function(...)``: what no stage inside it takes is of no kind."""
    return function(*args)


class Span(switch.OwnSpan):
    """A stage of the user's own."""

    __slots__ = ()

    def __enter__(self) -> None:
        global _inner
        if get_ident() == _thread:
            self._open.append((_inner, clock()))
            _inner = 0

    def __exit__(self, *exc: object) -> None:
        global _inner
        if self._open and get_ident() == _thread:
            outer, start = self._open.pop()
            took = clock() - start
            _sums[self._name] += took - _inner
            _inner = outer + took


marker: Final[Callable[[str], Span]] = switch.OnePerName(Span).__getitem__


def start() -> None:
    """Measure the calling thread from now on."""
    global _inner, _thread
    _inner, _thread = 0, get_ident()
    _sums.clear()
    switch.set_recording(True)


def stop(total: int) -> Sums:
    """Measure no more, and sum up.

    Args:
        total: nanoseconds that the batch took in all.
    """
    switch.set_recording(False)
    by_kind = dict.fromkeys(KINDS, 0)
    for name, time in _sums.items():
        kind = switch.HANDED_OUT.get(name, name).partition("::")[0]
        if kind in by_kind:
            by_kind[kind] += time
    _sums.clear()
    return (*by_kind.values(), max(0, total - sum(by_kind.values())))


def hook(patches: Patches, dataset: object) -> None:
    """Time a dataset, and whatever else the user registered, until the undo."""
    readers.install(patches)
    for role, obj in registry.registered():
        if role != "loader":  # other loaders' datasets are none of this batch's
            time_registered(patches, role, obj)
    time_dataset(patches, dataset)


@contextlib.contextmanager
def hooks(dataset: object) -> Generator[None, None, None]:
    """Everything that `start` needs, in this process and for a moment only."""
    patches = Patches()
    before = switch.call, switch.sample, switch.marker
    try:
        hook(patches, dataset)
        switch.call, switch.sample, switch.marker = call, sample, marker
        yield
    finally:
        switch.set_recording(False)
        switch.call, switch.sample, switch.marker = before
        patches.undo()


class TallyInit:
    """Calls the user's ``worker_init_fn``, then puts our hooks into the worker. Pickles whenever the user's does."""

    __slots__ = ("function", "loader")

    def __init__(self, function: Callable[[int], object] | None, loader: int) -> None:
        self.function = function
        self.loader = loader

    def __call__(self, worker: int) -> None:
        if self.function is not None:
            self.function(worker)
        with contextlib.suppress(Exception):
            begin(self.loader, worker)

    def __reduce__(self) -> tuple[type[TallyInit], tuple[Any, int]]:
        return TallyInit, (self.function, self.loader)

    def __repr__(self) -> str:
        return repr(self.function)


class TallyCollate:
    """A loader's collate function in its workers: sends each batch off as `Tallied`. Pickles if the function does."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, batch: Any) -> Any:
        data = self.function(batch)
        if current is not None:
            with contextlib.suppress(Exception):
                return current.finish(data)
        return data

    @property
    def __name__(self) -> str:
        return callable_label(self.function)

    def __reduce__(self) -> tuple[type[TallyCollate], tuple[Callable[[Any], Any]]]:
        return TallyCollate, (self.function,)

    def __repr__(self) -> str:
        return repr(self.function)


class Worker:
    """This process, as a worker whose batches are watched."""

    def __init__(self, loader: int, worker: int, patches: Patches) -> None:
        self._loader = loader
        self._worker = worker
        self._pid: Final = os.getpid()
        self._began: Final = clock()
        self._patches = patches
        self._iteration = self._batch = -1
        self._started = 0

    def begin(self, iteration: int, batch: int, measure: bool) -> None:
        """The indices of a batch have come in. Also ends the measuring of a batch that raised."""
        switch.set_recording(False)
        self._iteration, self._batch = iteration, batch
        if measure:
            with contextlib.suppress(Exception):  # libraries imported by now
                readers.install(self._patches)
            start()
        self._started = clock()

    def finish(self, data: Any) -> Any:
        """`data` with its facts; as it is when its indices came without a number."""
        finished = clock()
        iteration, batch = self._iteration, self._batch
        self._iteration = self._batch = -1
        if iteration < 0:
            return data
        sums = stop(finished - self._started) if switch.RECORDING else None
        facts = Facts(
            iteration, batch, self._loader, self._worker, self._pid, self._began, self._started, finished, 0, 0
        )
        return Tallied(data, facts, sums)


current: Worker | None = None
"""This process as a worker; None in every other process."""


def begin(loader: int, worker: int) -> None:
    """Put the hooks in. Whatever it raises leaves the worker as it was, but for hooks that stay quiet."""
    global current
    from torch.utils.data import get_worker_info

    current = None
    patches = Patches()
    info = get_worker_info()
    if info is not None:
        hook(patches, info.dataset)
    registry.listener = lambda role, obj: time_registered(patches, role, obj)
    switch.call, switch.sample, switch.marker = call, sample, marker
    current = Worker(loader, worker, patches)


class Watched(Tagged):
    """Indices on their way to a worker that is watched."""

    __slots__ = ("measure",)

    def __init__(self, indices: object, iteration: int, batch: int, measure: bool) -> None:
        super().__init__(indices, iteration, batch)
        self.measure = measure

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return take_indices, (self.indices, self.iteration, self.batch, self.measure)


def take_indices(indices: Any, iteration: int, batch: int, measure: bool) -> Any:
    """Runs in the worker that unpickles a `Watched`."""
    if current is not None:
        with contextlib.suppress(Exception):  # a fault of ours costs a line, never a batch
            current.begin(iteration, batch, measure)
    return indices


class Tallied:
    """A finished batch on its way to the training process."""

    __slots__ = ("data", "facts", "sums")

    def __init__(self, data: object, facts: Facts, sums: Sums | None) -> None:
        self.data = data
        self.facts = facts
        self.sums = sums

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, Facts, Sums | None]]:
        return unpack, (self.data, self.facts, self.sums)


def unpack(data: Any, facts: Facts, sums: Sums | None) -> Any:
    """Runs in the process that unpickles a `Tallied`."""
    if arrived is not None:
        with contextlib.suppress(Exception):
            arrived(facts, sums)
    return data


def _after_fork() -> None:
    """A process forked by a worker is no worker."""
    global current
    current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
