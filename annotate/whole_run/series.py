"""What a run's recorder sees of one loader: each ``next()``, and each batch on its way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from time import perf_counter_ns as clock
from typing import Any, Final, NamedTuple, Protocol

from annotate.monitoring.lines import one_at_a_time
from annotate.recording import sums, switch
from annotate.recording.between import Noticed
from annotate.saying import guard, report_error
from annotate.whole_run.tally import Step, Tally
from annotate.whole_run.usual import Usual
from annotate.workers import following, sums_content
from annotate.workers.batches import Batch, Iteration
from annotate.workers.standing import StandingWorkers
from annotate.workers.sums_content import BatchSums
from annotate.workers.transport import UNKNOWN, Facts, Payload

_LOST: Final = "annotate.watch does not follow a DataLoader"
_AT_ONCE: Final = 50
"""Steps that are summed up and learnt together, while none is above the usual range."""
_EVERY: Final = 20
"""Of so many batches of a loader with workers, one has its stages measured."""
_GOLDEN: Final = 0.6180339887498949
_BETWEEN_NS: Final = 2_000_000_000
"""Without workers: from one measured batch to the next, whose hooks have to go in and out."""
_ASKED: Final = 512
"""Times; more batches than that do not lie ready."""
_EPOCH_STALL_NS, _EPOCH_STALL_STEPS = 1_000_000_000, 20


def is_recorded() -> bool:
    """Whether a capture is on or may begin within a wait: its hooks must not meet those of a measured batch."""
    return switch.CAPTURING or any(
        isinstance(follower, StandingWorkers) and follower.on_any_batch is not None for follower in following._followers
    )


class Event(NamedTuple):
    """Step time or data wait has left its usual range, or is in it again; times in nanoseconds."""

    change: str
    """stall | slow | usual"""
    what: str
    """data wait | step time | first batch"""
    loader: int
    epoch: int
    batch: int
    took: float
    """A stall: of the step; slow: on average."""
    usual: float
    usual_steps: int
    """Whose median `usual` is."""
    length: int | None = None
    """Batches of an epoch, where it is known."""
    mean: float | None = None
    """Of the slow time that is over, where the change is that to usual."""


class Owner(Protocol):
    """Of all loaders of a run."""

    latest: object
    """The iterator whose batch came last, of any loader."""

    trouble: str | None

    @property
    def happened(self) -> Callable[[Event], None]: ...
    def tell_trouble(self) -> None: ...


class Series:
    """One loader, over all its epochs."""

    def __init__(self, number: int, owner: Owner, batch_size: int, length: int | None, workers: int = 0) -> None:
        self.number: Final = number
        self.owner: Final = owner
        self.batch_size: Final = batch_size
        self.length: Final = length
        self.tally = Tally()
        self.batches = 0
        """Handed out so far."""
        self.drawn = 0
        self.epochs = 0
        self.pids: set[int] = set()
        """Workers that sent a batch since they were last taken."""
        self._wait: Final = Usual(workers)
        self._step: Final = Usual(workers)
        self._step_is_slow = False
        """And it has been said, since that of the data wait was not."""
        self.recent: list[Step] = []
        """The latest steps that nothing is to be said of: one tuple each, until they are summed up."""
        self.to_learn: Final[deque[list[Step]]] = deque()
        """Of those, what the recorder's thread has summed up; the loop's own thread learns it."""

    def take(self) -> Tally:
        """What has come together since this was last called; in the recorder's thread."""
        recent, self.recent = self.recent, []
        taken, self.tally = self.tally, Tally()
        if recent:
            self.to_learn.append(recent)
            taken.add_steps(recent)
        taken.fold()
        return taken

    def is_calm(self, step: int, wait: int) -> bool:
        """Whether nothing is to be said of a step, so that `recent` is all that has to know of it."""
        return step <= self._step.calm_until and wait <= self._wait.calm_until

    def settle(self) -> None:
        """Sum up and learn the recent steps; in the loop's own thread."""
        recent, self.recent = self.recent, []
        if recent:
            self.tally.add_steps(recent)
            self.to_learn.append(recent)
        while self.to_learn:
            steps, waits, _ = zip(*self.to_learn.popleft(), strict=True)
            self._wait.add_calm(waits, self._usual_step())
            self._step.add_calm(steps)

    def stepped(self, epoch: int, batch: int, step: int, wait: int) -> None:
        """A step has ended that nothing disturbed."""
        self.tally.add_step(step, wait)
        change = self._wait.add(wait, self._usual_step())
        change_of_step = self._step.add(step)
        if change is not None:
            self._happened(change, "data wait", epoch, batch, wait, self._wait)
        is_said = change is not None or self._wait.is_slow
        if change_of_step == "usual":
            is_said, self._step_is_slow = not self._step_is_slow, False
        if change_of_step is None or is_said:
            return
        self._step_is_slow = change_of_step == "slow"
        self._happened(change_of_step, "step time", epoch, batch, step, self._step)

    def _usual_step(self) -> float:
        known = self._step.range
        return 0.0 if known is None else known.usual

    def first_came(self, epoch: int, wait: int) -> None:
        """The first batch of an epoch."""
        self.tally.epochs += 1
        self.tally.first_wait_ns += wait
        known = self._step.range
        if epoch and known is not None and wait > max(_EPOCH_STALL_NS, _EPOCH_STALL_STEPS * known.usual):
            self._happened("stall", "first batch", epoch, 0, wait, self._step)

    def _happened(self, change: str, what: str, epoch: int, batch: int, took: int, usual: Usual) -> None:
        self.tally.stalls += change == "stall"
        middle, steps = (0.0, 0) if usual.range is None else (usual.range.usual, usual.range.steps)
        event = Event(change, what, self.number, epoch, batch, took, middle, steps, self.length)
        if change == "slow":
            event = event._replace(took=usual.slow.mean)
        elif change == "usual":
            event = event._replace(mean=usual.slow.mean)
        self.owner.happened(event)

    def built(self, facts: Facts) -> None:
        """A worker's batch that is measured has come in; perhaps in torch's pinning thread."""
        tally = self.tally
        if facts.started and facts.before != UNKNOWN:
            tally.built += 1
            tally.build_ns += facts.finished - facts.started
            tally.starved_ns += max(0, facts.started - facts.before)

    def measured(self, stages: dict[str, int], samples: sums.Samples, attempts: sums.Attempts, **where: int) -> None:
        """
        Args:
            where: epoch, batch, and worker where there is one.
        """
        tally = self.tally
        tally.measured += 1
        for name, time in stages.items():
            tally.stage_ns[name] += time
        tally.measured_samples += samples.number
        tally.failures.update(attempts.failures)
        tally.retries.update(attempts.retries)
        tally.add_slow_samples(
            [_slow_sample(took, index, files, **where) for took, index, files in samples.slowest if index >= 0]
        )

    def noticed(self, noticed: Noticed, iteration: int, epoch: int, worker: int) -> None:
        """What a worker saw of batches that were not measured, of this epoch and perhaps the one before."""
        tally = self.tally
        tally.other_samples += noticed.number
        tally.other_failures.update(noticed.failures)
        tally.add_slow_samples(
            [
                _slow_sample(
                    slow.took,
                    slow.item,
                    slow.files,
                    epoch=epoch - (slow.iteration != iteration),
                    batch=slow.batch,
                    worker=worker,
                )
                for slow in noticed.slowest
                if slow.batch >= 0 and epoch >= (slow.iteration != iteration)
            ]
        )


def _slow_sample(took: int, index: int, files: tuple[str, ...], **where: int) -> dict[str, Any]:
    """As it stands in the file.

    Args:
        where: epoch, batch, and worker where there is one.
    """
    opened = {"files": list(files)} if files else {}
    return {"took_us": round(took / 1000, 1), "index": index, **where, **opened}


class RunEpoch:
    """One epoch of a series, as it listens to its batches; a `batches.Sampling` where there are workers."""

    def __init__(self, series: Series, iteration: Iteration) -> None:
        self.iteration: Final = iteration
        self.is_measured = False
        """Without workers: this moment."""
        self.asked: Final[deque[int]] = deque(maxlen=_ASKED)
        """When the loop asked for its latest batches."""
        self._size = 0
        """Of the batch that was handed out and that `consumed` was told of, in samples; 0: none was."""
        self._series: Final = series
        self._number: Final = series.epochs
        self._sizes: Final[dict[int, int]] = {}
        self._chosen: Final[set[int]] = set()
        """Those that are measured. Others are known, too, above all an epoch's first ones: with them, what is summed up
        would be of the gaps between epochs."""

    def drawn(self, batch: Batch, indices: object) -> str | None:
        return self.drawn_asleep(batch.batch, indices)

    def drawn_asleep(self, number: int, indices: object) -> str | None:
        self._sizes[number] = self._size_of(indices)
        period, place = divmod(self._series.drawn, _EVERY)
        self._series.drawn += 1
        if place != int((period + 2) * _GOLDEN % 1 * _EVERY):
            return None
        self._chosen.add(number)
        return sums_content.NAME

    def size_of_latest(self) -> int:
        """Of the batch that was handed out last, in samples."""
        if not self.iteration.has_workers:
            return self._size_of(self.iteration.latest)
        size, self._size = self._size, 0
        return size or self._sizes.pop(self.iteration.consumed - 1, self._series.batch_size)

    def _size_of(self, indices: object) -> int:
        return len(indices) if isinstance(indices, (list, tuple)) else self._series.batch_size

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        series = self._series
        series.pids.add(facts.pid)
        sent = payload.get(sums_content.NAME)
        if sent is not None:
            series.built(facts)
            measured = BatchSums.received(sent)
            where = {"epoch": self._number, "batch": facts.batch, "worker": facts.worker}
            series.measured(measured.stages, measured.samples, measured.attempts, **where)
            series.noticed(measured.noticed, facts.iteration, epoch=self._number, worker=facts.worker)
        if facts.serialised != UNKNOWN and facts.serialise != UNKNOWN:
            series.tally.serialised += 1
            series.tally.serialise_ns += facts.serialised - facts.serialise
            series.tally.deserialise_ns += max(0, (batch.arrived or 0) - facts.deserialise)

    def consumed(self, batch: Batch) -> None:
        self._size = self._sizes.pop(batch.batch, self._series.batch_size)
        finished = batch.finished
        if finished is not None and batch.batch in self._chosen:
            self._series.tally.asked += 1
            for asked in reversed(self.asked):
                if asked < finished:
                    break
                self._series.tally.ready += 1
        self._chosen.discard(batch.batch)


class RunIterator:
    """One iterator of a series: stands around its ``next()``."""

    def __init__(
        self, series: Series, epoch: RunEpoch | None, hooks: Callable[[], AbstractContextManager[object]], began: int
    ) -> None:
        """
        Args:
            epoch: None where its batches cannot be followed.
            hooks: everything that a measured batch needs in this process.
            began: when the making of the iterator began.
        """
        self.series: Final = series
        self.epoch: Final = epoch
        self._hooks: Final = hooks
        self._began: Final = began
        self._number: Final = series.epochs
        self._batches = 0
        self._previous = 0
        """When its last batch was handed out; 0: the time since then says nothing."""
        self._measure_at = began

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        begin = clock()
        epoch = self.epoch
        has_workers = epoch is not None and epoch.iteration.has_workers
        if epoch is not None and has_workers:
            epoch.asked.append(begin)
        try:
            if epoch is not None and not has_workers and begin >= self._measure_at and not is_recorded():
                data = self._measured(epoch, iterator, method)
            else:
                data = method(iterator)
        except Exception as error:
            if not isinstance(error, StopIteration):
                self.series.tally.raised += 1
            raise
        try:
            self._came(begin, clock())
        except Exception as error:  # a fault of ours costs a record, never a batch
            report_error(_LOST, error)
        return data

    def _came(self, begin: int, now: int) -> None:
        """A batch is handed out: mostly, a tuple is put down and that is all."""
        series, previous = self.series, self._previous
        owner, wait = series.owner, now - begin
        series.batches += 1
        self._batches += 1
        size = series.batch_size if self.epoch is None else self.epoch.size_of_latest()
        is_alone = owner.latest is self and not switch.CAPTURING and owner.trouble is None
        if is_alone and previous and series.is_calm(now - previous, wait):
            self._previous = now
            series.recent.append((now - previous, wait, size))
            if len(series.recent) >= _AT_ONCE or series.to_learn:
                series.settle()
            return
        series.settle()
        self._came_otherwise(begin, now, size)

    def _came_otherwise(self, begin: int, now: int, size: int) -> None:
        series, owner, batch = self.series, self.series.owner, self._batches - 1
        tally, previous = series.tally, self._previous
        tally.samples += size
        if owner.trouble is not None:
            owner.tell_trouble()
        is_alone = owner.latest is self and not switch.CAPTURING
        owner.latest = self
        self._previous = 0 if switch.CAPTURING else now
        if not batch and not switch.CAPTURING:
            series.first_came(self._number, now - self._began)
        elif previous and is_alone:
            series.stepped(self._number, batch, now - previous, now - begin)
        else:
            tally.unused_steps += 1

    def _measured(self, epoch: RunEpoch, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """The next batch, made in this thread."""
        if not one_at_a_time.acquire(blocking=False):
            return method(iterator)
        hooks = ExitStack()
        try:
            with guard(_LOST):
                hooks.enter_context(self._hooks())
                sums.start()
                epoch.is_measured = True
            begin = clock()
            try:
                return method(iterator)
            finally:
                self._note(epoch, hooks, clock() - begin)
        finally:
            one_at_a_time.release()

    def _note(self, epoch: RunEpoch, hooks: ExitStack, took: int) -> None:
        was_measured, epoch.is_measured = epoch.is_measured, False
        with guard(_LOST):
            sums.stop(took)
        with guard(_LOST):
            hooks.close()
        self._measure_at = clock() + _BETWEEN_NS
        if was_measured:
            with guard(_LOST):
                where = {"epoch": self._number, "batch": self._batches}
                self.series.measured(sums.stages(), sums.samples(), sums.attempts(), **where)
