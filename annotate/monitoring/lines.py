"""What a monitor (`monitor.Monitor`) sees of a loader's batches, and the lines that it makes of that.

Of each `every` batches one is measured; the others cost a number on their way there and back.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from _thread import get_ident
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from time import perf_counter_ns as clock
from typing import IO, Any, Final, NamedTuple

from annotate.recording import boundaries, sums, switch
from annotate.recording.takers import Takers, Takings, Whose
from annotate.saying import guard, shown
from annotate.workers import sums_content
from annotate.workers.batches import Batch, Iteration
from annotate.workers.sums_content import BatchSums
from annotate.workers.transport import Facts, Payload

HEADER: Final = (
    f"{'times in ms':12} {'wor-':>4} {'':7} {'':3} {'':6} {'first':>8} {'':5} {'de-':>5} {'tran-':>5} {'col-':>5} "
    f"{'':5} {'tran-':>5} | {'data':>5} {'':5} {'of':>4}",
    f"{'DataLoader':12} {'ker':>4} {'pid':>7} {'ep.':>3} {'batch':>6} {'index':>8} {'read':>5} {'code':>5} "
    f"{'sform':>5} {'late':>5} {'other':>5} {'sfer':>5} | {'wait':>5} {'step':>5} {'step':>4}",
)
"""Two lines above the others, of 100 columns as they."""

_WHOSE: Final[dict[Whose, str]] = {
    "fed": "another thread than the one that trains takes the batches: `data wait` and `step` are that thread's",
    "elsewhere": (
        "another thread than the main one takes the batches, and which thread trains was not seen: `data wait` and "
        "`step` are of the one that takes them"
    ),
}
_GOLDEN: Final = 0.6180339887498949
_PATIENCE: Final = 50
"""Batches, until it is said that nobody has been seen to train: accumulated gradients take more than a few a step."""
one_at_a_time: Final = threading.Lock()
_NOT_MEASURED: Final = "annotate.monitor does not measure a batch"


class Measured(NamedTuple):
    """A batch that a line can be about; times in nanoseconds."""

    worker: int | None
    """None: the training process itself."""
    pid: int
    epoch: int
    batch: int
    first: object
    """Its first dataset index, where there is one."""
    sums: sums.Sums
    transfer: int


class Lines:
    """The lines about one loader: which batch each is about, and what it says."""

    def __init__(self, number: int, every: int, file: IO[str] | None, dataset_name: str) -> None:
        self.number: Final = number
        self.every: Final = every
        self.file: Final = file
        self.dataset_name: Final = dataset_name
        self.measured: Measured | None = None
        """The latest to have been handed out since the last line."""
        self.takings: Final = Takings()
        self.takers: Final = Takers()
        self.handed_out = 0
        self.epochs = 0
        self._has_header = False
        self._line_from = 0
        """The number of the first batch after those of the last line; a multiple of `every`."""
        self._waits = self._steps = self._timed = 0
        self._notes: set[str] = set()

    def measures(self, number: int) -> bool:
        """Whether to measure the batch that is to be handed out as the `number`-th."""
        period, place = divmod(number, self.every)
        return place == int((period + 1) * _GOLDEN % 1 * self.every)

    def add(self, watch: Watch, begin: int, now: int) -> None:
        """A batch has been handed out."""
        self.handed_out += 1
        self.takers.took(self.takings, with_gradients=boundaries.are_gradients_on())
        if watch.previous:
            self._timed += 1
            self._steps += now - watch.previous
            self._waits += now - begin + watch.start_up
        watch.previous, watch.start_up = now, 0
        since = self.handed_out - self._line_from
        if since < self.every:
            return
        # Batches that come out of order may keep the measured one waiting, and one that raised never comes.
        if self.measured is not None or since >= 2 * self.every or not watch.is_followed:
            if not self._has_header:
                self._has_header = True
                for line in HEADER:
                    print_line(self.file, line)
            print_line(self.file, self.format(watch.number))
            self._begin_line()
            self._note_takers()

    def _note_takers(self) -> None:
        """Say whose the times are, once, after a line of them."""
        counts = self.takings.counts
        if counts.elsewhere >= _PATIENCE or counts.own or counts.fed:
            text = _WHOSE.get(counts.whose(self.handed_out))
            if text is not None:
                self.note(text)

    def skip(self, watch: Watch) -> None:
        """A batch has been handed out while a capture was going on."""
        self.handed_out += 1
        watch.previous = 0
        self._begin_line()

    def _begin_line(self) -> None:
        self.measured = None
        self._line_from = self.handed_out - self.handed_out % self.every
        self._waits = self._steps = self._timed = 0

    def format(self, epoch: int) -> str:
        """A line under `HEADER`."""
        measured = self.measured
        if measured is None:
            worker, pid, number, first, times = "-", "-", "-", "-", ["-"] * 6
        else:
            worker = "main" if measured.worker is None else str(measured.worker)
            pid, epoch, number, first = str(measured.pid), measured.epoch, str(measured.batch), _index(measured.first)
            times = [_ms(time) for time in measured.sums]
            times.append("-" if measured.worker is None else _ms(measured.transfer))
        ends = ("-", "-", "-")
        if self._timed and self._steps:
            wait, step = self._waits / self._timed, self._steps / self._timed
            ends = (_ms(wait), _ms(step), f"{wait / step:.0%}")
        name = f"{self.number} {self.dataset_name}"[:12]
        parts = " ".join(f"{time:>5}" for time in times)
        end = f"{ends[0]:>5} {ends[1]:>5} {ends[2]:>4}"
        return f"{name:12} {worker:>4} {pid:>7} {epoch:>3} {number:>6} {first:>8} {parts} | {end}"

    def note(self, text: str) -> None:
        """Say something about the loader, once."""
        if text not in self._notes:
            self._notes.add(text)
            print_line(self.file, f"annotate.monitor: DataLoader {self.number} {self.dataset_name}: {text}")


class WatchedEpoch:
    """One epoch of a watched loader, as its lines listen to it; a `batches.Listener`."""

    def __init__(self, lines: Lines, iteration: Iteration) -> None:
        self.iteration: Final = iteration
        self.epoch: Final = lines.epochs
        self.is_measured = False
        """Without workers: this moment."""
        self.asked = 0
        """When the ``next()`` that is going on began."""
        self.asked_by = 0
        self.firsts: Final[dict[int, object]] = {}
        """Of batches that are measured and not handed out: their first index."""
        self._handed_out_before: Final = lines.handed_out
        self._lines = lines
        self._measured: Final[dict[int, tuple[sums.Sums, int]]] = {}

    def drawn(self, batch: Batch, indices: object) -> str | None:
        has_workers = self.iteration.has_workers
        measure = self.is_measured or (has_workers and self._lines.measures(self._handed_out_before + batch.batch))
        if not measure:
            return None
        self.firsts[batch.batch] = _first_of(indices)
        return sums_content.NAME if has_workers else None

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        measured = payload.get(sums_content.NAME)
        if measured is not None:
            ready = facts.finished
            if get_ident() == self.asked_by:  # it may have lain in the queue, ready
                ready = max(ready, self.asked)
            self._measured[batch.batch] = BatchSums.received(measured).kinds, max(0, (batch.arrived or ready) - ready)

    def consumed(self, batch: Batch) -> None:
        if batch.batch in self.firsts:
            first = self.firsts.pop(batch.batch)
            measured = self._measured.pop(batch.batch, None)
            if measured is not None and batch.pid is not None:
                self._lines.measured = Measured(batch.worker, batch.pid, self.epoch, batch.batch, first, *measured)


class Watch:
    """What is known of an iterator."""

    __slots__ = ("_hooks", "epoch", "lines", "number", "previous", "start_up")

    def __init__(
        self, lines: Lines, epoch: WatchedEpoch | None, hooks: Callable[[], AbstractContextManager[object]], begin: int
    ) -> None:
        """
        Args:
            epoch: None when its batches cannot be followed.
            hooks: everything that a measured batch needs in this process.
            begin: when the making of the iterator began.
        """
        self.lines = lines
        self.epoch = epoch
        self.number = lines.epochs
        self._hooks = hooks
        self.previous = begin
        """When its last batch was handed out, or its making began; 0: a capture came between."""
        self.start_up = clock() - begin
        """Time in ``iter()``, part of the first wait."""

    @property
    def is_followed(self) -> bool:
        return self.epoch is not None

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """The next batch, timed."""
        lines, epoch = self.lines, self.epoch
        if switch.CAPTURING:
            data = method(iterator)
            lines.skip(self)
            return data
        begin = clock()
        if epoch is not None and epoch.iteration.has_workers:
            epoch.asked, epoch.asked_by = begin, get_ident()
            data = method(iterator)
        elif epoch is not None and self._is_turn() and one_at_a_time.acquire(blocking=False):
            try:
                data = self._measured(epoch, iterator, method)
            finally:
                one_at_a_time.release()
        else:
            data = method(iterator)
        with guard("annotate.monitor lost a line"):
            lines.add(self, begin, clock())
        return data

    def _is_turn(self) -> bool:
        with guard(_NOT_MEASURED):
            return self.lines.measures(self.lines.handed_out)
        return False

    def _measured(self, epoch: WatchedEpoch, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """The next batch, made in this thread."""
        hooks = ExitStack()
        with guard(_NOT_MEASURED):
            hooks.enter_context(self._hooks())
            sums.start()
            epoch.is_measured = True
        begin = clock()
        try:
            data = method(iterator)
        finally:
            is_measured, epoch.is_measured = epoch.is_measured, False
            measured: sums.Sums | None = None
            with guard(_NOT_MEASURED):
                measured = sums.stop(clock() - begin)
            with guard(_NOT_MEASURED):
                hooks.close()
        with guard(_NOT_MEASURED):
            self._note(epoch, measured if is_measured else None)
        return data

    def _note(self, epoch: WatchedEpoch, measured: sums.Sums | None) -> None:
        if measured is not None:
            for number, first in epoch.firsts.items():
                self.lines.measured = Measured(None, os.getpid(), epoch.epoch, number, first, measured, 0)
        epoch.firsts.clear()


def _first_of(indices: Any) -> object:
    """The first dataset index of a batch; of a loader that does not batch, the only one."""
    if isinstance(indices, (str, bytes, dict)) or not hasattr(indices, "__len__"):
        return indices
    try:
        return indices[0]
    except Exception:  # of no dimension, empty, or a class of its own
        return indices


def _ms(time_ns: float) -> str:
    """Milliseconds in five columns, as many decimals as fit; whole seconds from 100 of them on."""
    ms = time_ns / 1e6
    fitting = (text for decimals in (3, 2, 1, 0) if len(text := f"{ms:.{decimals}f}") <= 5)
    return next(fitting, f"{ms / 1000:.0f}s")


def _index(first: object) -> str:
    """A dataset index in at most eight columns; ``-`` for what is none."""
    if isinstance(first, str):
        return first[:8]
    try:
        return str(int(first))[:8]  # type: ignore[call-overload]
    except Exception:  # None; whatever a sampler may give
        return "-"


def print_line(file: IO[str] | None, line: str) -> None:
    """A line that cannot be written is lost: training goes on."""
    with contextlib.suppress(Exception):
        out = sys.stderr if file is None else file
        out.write(shown(line) + "\n")
        out.flush()
