"""Inside a DataLoader worker: hooks go in when its ``worker_init_fn`` is called, and each batch leaves with its facts.

Nothing in here may break the user's worker: whatever fails on our side ends the recording of that worker, no more.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from annotate import _costs, _decoders, _host, _parcel, _patching, _recorder, _registry, _spans, _spool
from annotate._dataset import time_dataset
from annotate._loader import time_registered
from annotate._patching import Patches
from annotate._timed import callable_label

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
            current.flush()
            raise
        return current.finish(data)

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
        self._control = _spool.view_control(place.folder)
        self._state = _spool.StateFile(place.folder, worker)
        self._window = 0
        self._file: _spool.SpoolFile | None = None
        self._iteration = self._batch = -1
        self._started = 0
        self._meter: _costs.Meter | None = None
        self._before: _costs.Reading | None = None
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
        except OSError:
            self._close()
            return False
        return True

    def _open(self, window: int) -> None:
        _recorder.attach(self.flush, self.still_on, self._place.buffered_spans)
        facts = {
            "loader": self._place.loader,
            "worker": self._worker,
            "pid": self._pid,
            "started": self._began,
            "span_ns": _recorder.cost_ns(),
            "threads": _host.library_threads(),
        }
        self._file = _spool.SpoolFile(self._place.folder, window, self._place.spool_bytes, facts)
        self._dropped = 0
        self._meter, self._before = _costs.Meter(), None
        with contextlib.suppress(Exception):  # libraries imported by now
            _decoders.install(self._patches)
        _spans.set_recording(True)

    def still_on(self) -> bool:
        """False, and nothing is recorded any more, when the window has closed."""
        if self._control[0] == self._window:
            return True
        self.flush()
        self._close()
        return False

    def _close(self) -> None:
        _spans.set_recording(False)
        _recorder.rows.clear()
        if self._meter is not None:
            self._meter.close()
            self._meter = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def begin(self, iteration: int, batch: int) -> None:
        """The indices of a batch have come in."""
        if _spans.RECORDING:
            if _recorder.rows:  # of a batch that raised
                self.flush()
            if _spans.RECORDING:
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
        recording = _spans.RECORDING
        if recording:
            self._flush(started, finished, self._cost())
        elif iteration < 0:  # the loader was not tagged: found out here that a window has opened
            self.poll()
        self._iteration = self._batch = -1
        self._started = 0
        if iteration < 0 and not recording:
            return data
        place = self._place
        facts = _parcel.Facts(
            iteration, batch, place.loader, self._worker, self._pid, self._began, started, finished, self._dropped,
            _recorder.other_threads,
        )  # fmt: skip
        return _parcel.Parcel(data, facts)

    def _cost(self) -> _costs.Reading:
        """Of the batch that has just been finished."""
        before, self._before = self._before, None
        if before is None or self._meter is None:  # not its turn, or the window opened in the middle of it
            return _costs.NOT_TOLD
        return _costs.between(before, self._meter.read())

    def flush(self) -> None:
        """Write the spans of a batch that has not finished."""
        self._flush(self._started, -1, _costs.NOT_TOLD)

    def _flush(self, started: int, finished: int, cost: _costs.Reading) -> None:
        """Write what has been recorded. Any failure ends the recording, and what could not be written is counted."""
        count = len(_recorder.rows) // 4
        file = self._file
        if file is None or not count:
            _recorder.rows.clear()
            return
        _recorder.flushed()
        if not file.has_room(count * 32 + 256):
            self._dropped += count
            _recorder.rows.clear()
            return
        try:
            packed = _recorder.take_rows()
            file.write_names(_recorder.names, _spans.HANDED_OUT)
            batch = _spool.BATCH.pack(self._iteration, self._batch, started, finished, *cost)
            file.write(_spool.SPANS, batch + packed)
        except Exception:  # a full disk
            self._dropped += count
            self._close()


current: Worker | None = None
"""This process as a worker; None in every other process, and in workers that could not record."""


def begin(place: Place, worker: int, started: int) -> None:
    """Put the hooks in. Whatever it raises leaves the worker as it was, but for hooks that stay quiet."""
    global current
    current = None
    _spans.timed = _recorder.timed
    patches = _inherited_patches()
    new = Worker(place, worker, started, patches)
    _decoders.install(patches)
    for role, obj in _registry.registered():
        time_registered(patches, role, obj)
    info = _worker_info()
    if info is not None:
        time_dataset(patches, info.dataset)
    _registry.listener = lambda role, obj: time_registered(patches, role, obj)
    _spans.call, _spans.sample, _spans.poll = _recorder.call, _recorder.sample, new.poll
    _spans.marker = _recorder.marker
    _parcel.begun = new.begin
    current = new


def _inherited_patches() -> Patches:
    """The session's own, in a forked worker: its objects are timed already, and must not be timed twice."""
    patches = _patching.in_force
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
    _parcel.begun = _parcel.arrived = None
    _recorder.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
