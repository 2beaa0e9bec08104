"""Inside a DataLoader worker: hooks go in when its ``worker_init_fn`` is called, and each batch leaves with its facts.

Nothing in here may break the user's worker: whatever fails on our side ends the recording of that worker, no more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from multiprocessing.util import Finalize
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from annotate.hooks import patching, readers, registry
from annotate.hooks.datasets import time_dataset
from annotate.hooks.loaders import time_registered
from annotate.hooks.patching import Patches
from annotate.hooks.stand_ins import callable_label
from annotate.host import facts, meter
from annotate.recording import span_recorder, switch
from annotate.workers import spool, transport

CollateFunction = Callable[[Any], Any]


class Place(NamedTuple):
    """Where a worker writes, and how much."""

    folder: str
    training_process: int
    loader: int
    spool_bytes: int
    buffered_spans: int


class WorkerInit:
    """Calls the user's ``worker_init_fn``, then puts our hooks into the worker. Pickles whenever the user's does."""

    __slots__ = ("function", "place")

    def __init__(self, function: Callable[[int], object] | None, place: Place) -> None:
        self.function = function
        self.place = place

    def __call__(self, worker: int) -> None:
        if self.function is not None:
            self.function(worker)
        if os.getpid() != self.place.training_process:  # a worker that is a thread records nothing
            with contextlib.suppress(Exception):
                begin(self.place, worker, perf_counter_ns())

    def __reduce__(self) -> tuple[type[WorkerInit], tuple[Any, Place]]:
        return WorkerInit, (self.function, self.place)

    def __repr__(self) -> str:
        return repr(self.function)


class WorkerCollate:
    """A loader's collate function in its workers: sends each batch off in a `Parcel`. Pickles if the function does."""

    __slots__ = ("function",)

    def __init__(self, function: CollateFunction) -> None:
        self.function = function

    def __call__(self, batch: Any) -> Any:
        if current is None:
            return self.function(batch)
        try:
            data = self.function(batch)
        except BaseException:
            with contextlib.suppress(Exception):
                current.flush()
            raise
        with contextlib.suppress(Exception):  # a fault of ours costs the batch's spans, never the batch
            return current.finish(data)
        return data

    @property
    def __name__(self) -> str:
        return callable_label(self.function)

    def __reduce__(self) -> tuple[type[WorkerCollate], tuple[CollateFunction]]:
        return WorkerCollate, (self.function,)

    def __repr__(self) -> str:
        return repr(self.function)


class Worker:
    """This process, as a worker that records while a window is open."""

    def __init__(self, place: Place, worker: int, started: int, patches: Patches) -> None:
        """Raises: OSError: the session is over."""
        self._place = place
        self._worker = worker
        self._pid: Final = os.getpid()
        self._began: Final = started
        self._patches = patches
        self._control = spool.view_control(place.folder)
        self._state = spool.StateFile(place.folder, worker)
        self._window = 0
        self._file: spool.SpoolFile | None = None
        self._iteration = self._batch = -1
        self._started = 0
        self._meter: meter.Meter | None = None
        self._before: meter.Reading | None = None
        """What the meter said when the batch began."""
        self._dropped = 0

    def poll(self) -> bool:
        """Start recording if a window has opened. Called while nothing is recorded."""
        window: int = self._control[0]
        if window == 0 or window == self._window:
            return False
        self._window = window
        try:
            self._open(window)
        except Exception:  # a full disk, a fault of ours: this worker records nothing in this window
            self._close()
            return False
        return True

    def _open(self, window: int) -> None:
        span_recorder.attach(self.flush, self.still_on, self._place.buffered_spans)
        own = {
            "loader": self._place.loader,
            "worker": self._worker,
            "pid": self._pid,
            "started": self._began,
            "span_ns": span_recorder.cost_ns(),
            "threads": facts.library_threads(),
        }
        self._file = spool.SpoolFile(self._place.folder, window, self._place.spool_bytes, own)
        self._dropped = 0
        self._meter, self._before = meter.Meter(), None
        with contextlib.suppress(Exception):  # libraries imported by now
            readers.install(self._patches)
        switch.set_recording(True)

    def still_on(self) -> bool:
        """False, and nothing is recorded any more, when the window has closed."""
        if self._control[0] == self._window:
            return True
        self.flush()
        self._close()
        return False

    def _close(self) -> None:
        switch.set_recording(False)
        span_recorder.rows.clear()
        if self._meter is not None:
            self._meter.close()
            self._meter = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def begin(self, iteration: int, batch: int) -> None:
        """The indices of a batch have come in."""
        if switch.RECORDING:
            if span_recorder.rows:  # of a batch that raised
                self.flush()
            if switch.RECORDING:
                self.still_on()
        else:
            self.poll()
        self._iteration, self._batch = iteration, batch
        self._before = None if self._meter is None else self._meter.begin()
        self._started = perf_counter_ns()
        self._state.write(iteration, batch, self._started)

    def finish(self, data: Any) -> Any:
        """`data` in a parcel, its spans written before it leaves; as it is while there is nobody to tell."""
        finished = perf_counter_ns()
        self._state.write(-1, -1, 0)
        iteration, batch, started = self._iteration, self._batch, self._started
        recording = switch.RECORDING
        if recording:
            self._flush(started, finished, self._cost())
        elif iteration < 0:  # the loader was not tagged: found out here that a window has opened
            self.poll()
        self._iteration = self._batch = -1
        self._started = 0
        if iteration < 0 and not recording:
            return data
        place = self._place
        facts = transport.Facts(
            iteration, batch, place.loader, self._worker, self._pid, self._began, started, finished, self._dropped,
            span_recorder.other_threads,
        )  # fmt: skip
        return transport.Parcel(data, facts)

    def _cost(self) -> meter.Reading:
        """Of the batch that has just been finished."""
        before, self._before = self._before, None
        if before is None or self._meter is None:  # not its turn, or the window opened in the middle of it
            return meter.NOT_TOLD
        return meter.between(before, self._meter.read())

    def flush(self) -> None:
        """Write the spans of a batch that has not finished."""
        self._flush(self._started, -1, meter.NOT_TOLD)

    def _flush(self, started: int, finished: int, cost: meter.Reading) -> None:
        """Write what has been recorded. Any failure ends the recording, and what could not be written is counted."""
        count = len(span_recorder.rows) // 4
        file = self._file
        if file is None or not count:
            span_recorder.rows.clear()
            return
        span_recorder.flushed()
        if not file.has_room(count * 32 + 256):
            self._dropped += count
            span_recorder.rows.clear()
            return
        try:
            packed = span_recorder.take_rows()
            file.write_names(span_recorder.names, switch.HANDED_OUT)
            batch = spool.BATCH.pack(self._iteration, self._batch, started, finished, *cost)
            file.write(spool.SPANS, batch + packed)
        except Exception:  # a full disk
            self._dropped += count
            self._close()


current: Worker | None = None
"""This process as a worker; None in every other process, and in workers that could not record."""


def begin(place: Place, worker: int, started: int) -> None:
    """Put the hooks in. Whatever it raises leaves the worker as it was, but for hooks that stay quiet."""
    global current
    current = None
    switch.timed = span_recorder.timed
    patches = _inherited_patches()
    new = Worker(place, worker, started, patches)
    Finalize(None, spool.remove_orphan, args=(place.folder,), exitpriority=0)
    readers.install(patches)
    for role, obj in registry.registered():
        time_registered(patches, role, obj)
    info = _worker_info()
    if info is not None:
        time_dataset(patches, info.dataset)
    registry.listener = lambda role, obj: time_registered(patches, role, obj)
    switch.call, switch.sample, switch.poll = span_recorder.call, span_recorder.sample, new.poll
    switch.marker = span_recorder.marker
    transport.begun = new.begin
    current = new


def _inherited_patches() -> Patches:
    """The session's own, in a forked worker: its objects are timed already, and must not be timed twice."""
    patches = patching.in_force
    if patches is None:
        return Patches()
    patches.visit_again()
    patches.set_globals_again()
    patches.make_methods_again()
    return patches


def _worker_info() -> Any:
    from torch.utils.data import get_worker_info

    return get_worker_info()


def _after_fork() -> None:
    """A process forked by a worker is no worker; one forked by the training process becomes one in `begin`."""
    global current
    current = None
    transport.begun = transport.arrived = None
    span_recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
