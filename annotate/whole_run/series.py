"""One loader of a run, over all its epochs: what its steps come to, and when one is unusual."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol
from weakref import WeakSet, ref

from annotate.recording import sums
from annotate.recording.between import Noticed
from annotate.recording.takers import Takers, Takings
from annotate.whole_run.early import EarlySteps
from annotate.whole_run.tally import Step, Tally
from annotate.whole_run.thread_steps import InSteps, ThreadSteps
from annotate.whole_run.usual import Range, Usual
from annotate.workers.transport import UNKNOWN, Facts

_EPOCH_STALL_NS, _EPOCH_STALL_STEPS = 1_000_000_000, 20
AT_ONCE: Final = 50
"""Steps that are summed up and learnt together, while none is above the usual range."""


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
    ended: float | None = None
    """Of an early step that is told later: when it ended, seconds since 1970."""
    wait: float | None = None
    usual_wait: float | None = None
    """Of the slow step time that is over: its mean data wait, which was no event, and the median of steps before."""


class Iterated(Protocol):
    """An iterator of a loader."""

    @property
    def series(self) -> Series: ...

    @property
    def until(self) -> int:
        """When its last batch was handed out, or its end was found."""

    @property
    def batches(self) -> int:
        """Handed out so far."""

    @property
    def recorded_ns(self) -> int:
        """What recording had taken of the program until then."""

    @property
    def is_left(self) -> bool:
        """Nobody will have another batch of it."""


class Here(threading.local):
    """What the calling thread has taken; gone with the thread."""

    def __init__(self, all_steps: WeakSet[ThreadSteps] | None = None) -> None:
        """`all_steps`: those of all threads."""
        self.latest: Iterated | None = None
        """The iterator whose batch came to it last, of any loader."""
        self.steps: Final = ThreadSteps()
        if all_steps is not None:
            all_steps.add(self.steps)


class Owner(Protocol):
    """Of all loaders of a run."""

    latest: Iterated | None
    """The iterator whose batch came last, of any loader, to any thread."""

    here: Here
    trouble: str | None

    @property
    def takers(self) -> Takers: ...
    @property
    def happened(self) -> Callable[[Event], None]: ...
    def tell_trouble(self) -> None: ...


class _SlowWait:
    """The data wait of the steps of a slow time, in nanoseconds."""

    def __init__(self, before: Range | None = None) -> None:
        """`before`: its usual range when the time began."""
        self.usual: Final = None if before is None else before.usual
        self._sum = self._steps = 0

    def add(self, wait: int) -> None:
        self._sum += wait
        self._steps += 1

    @property
    def mean(self) -> float | None:
        return self._sum / self._steps if self._steps else None


class Series:
    """One loader, over all its epochs."""

    def __init__(
        self,
        number: int,
        owner: Owner,
        batch_size: int,
        length: int | None,
        workers: int = 0,
        *,
        workers_end: bool = False,
    ) -> None:
        """
        Args:
            workers_end: they do with each epoch, and what they have not told by then is lost.
        """
        self.number: Final = number
        self.owner: Final = owner
        self.batch_size: Final = batch_size
        self.length: Final = length
        self.workers_end: Final = workers_end
        self._tells: Final = length - workers if workers and length is not None else None
        """Number of the first of an epoch's last batches, one of each worker; None: not known."""
        self.tally = Tally()
        self.takings: Final = Takings()
        self.batches = 0
        """Handed out so far."""
        self.drawn = 0
        self.thread: int | None = None
        """The one that iterated it last, as the system numbers it."""
        self.epochs = 0
        self.latest: ref[Iterated] | None = None
        """Its own iterator that was made last; that of persistent workers is there until the next one is."""
        self.pids: set[int] = set()
        """Workers that sent a batch since they were last taken."""
        self._first_starved: Final[dict[int, int]] = {}
        """Pid -> nanoseconds before its first batch of an epoch, until it tells of that."""
        self.in_steps: Final = InSteps()
        self._wait: Final = Usual(workers)
        self._step: Final = Usual(workers)
        self._early: Final = EarlySteps(workers, self._wait, self._step)
        self._step_is_slow = False
        """And it has been said, since that of the data wait was not."""
        self._slow_wait = _SlowWait()
        """While it is."""
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
        taken.taken = self.takings.take()
        taken.fold()
        return taken

    def is_calm(self, step: int, wait: int) -> bool:
        """Whether nothing is to be said of a step, so that `recent` is all that has to know of it."""
        return step <= self._step.calm_until and wait <= self._wait.calm_until and self._early.are_over

    def stepped_or_kept(self, epoch: int, batch: int, step: int, wait: int) -> None:
        """As `stepped`; where nothing is to be said of it, later, with others. Its samples have been counted."""
        if self.is_calm(step, wait):
            self.recent.append((step, wait, 0))
            if len(self.recent) >= AT_ONCE or self.to_learn:
                self.settle()
        else:
            self.settle()
            self.stepped(epoch, batch, step, wait)

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

    def conclude(self) -> None:
        """No more batches come."""
        if not self._early.are_over:
            self._tell_early()

    def stepped(self, epoch: int, batch: int, step: int, wait: int) -> None:
        """A step has ended that nothing disturbed: it trained on the batch before, and then waited for this one."""
        self.tally.add_step(step, wait)
        change = self._wait.add(wait, self._usual_step())
        change_of_step = self._step.add(step)
        if not self._early.are_over:
            is_slow = self._wait.is_slow or self._step.is_slow
            is_told = is_slow or "stall" in (change, change_of_step)
            if self._early.add(epoch, batch, step, wait, is_told=is_told):
                self._tell_early()
        if change is not None:
            self._happened(change, "data wait", epoch, batch, wait, self._wait)
        is_said = change is not None or self._wait.is_slow
        if change_of_step == "usual":
            is_said, self._step_is_slow = not self._step_is_slow, False
        if self._step_is_slow:
            self._slow_wait.add(wait)
        if change_of_step is None or is_said:
            return
        if change_of_step == "slow":
            self._step_is_slow, self._slow_wait = True, _SlowWait(self._wait.range)
        self._happened(change_of_step, "step time", epoch, max(0, batch - 1), step, self._step)

    def _tell_early(self) -> None:
        self._step.look_again()
        self._wait.look_again(self._usual_step())
        for kept, usual in self._early.take_stalls():
            if usual is self._wait:
                self._happened("stall", "data wait", kept.epoch, kept.batch, kept.wait, usual, kept.t)
            else:
                self._happened("stall", "step time", kept.epoch, max(0, kept.batch - 1), kept.step, usual, kept.t)

    def _usual_step(self) -> float:
        known = self._step.range
        return 0.0 if known is None else known.usual

    def first_came(self, epoch: int, wait: int) -> None:
        """The first batch of an epoch."""
        self.tally.first_waits += 1
        self.tally.first_wait_ns += wait
        known = self._step.range
        if epoch and known is not None and wait > max(_EPOCH_STALL_NS, _EPOCH_STALL_STEPS * known.usual):
            self._happened("stall", "first batch", epoch, 0, wait, self._step)

    def _happened(
        self, change: str, what: str, epoch: int, batch: int, took: int, usual: Usual, ended: float | None = None
    ) -> None:
        self.tally.stalls += change == "stall"
        middle, steps = (0.0, 0) if usual.range is None else (usual.range.usual, usual.range.steps)
        event = Event(change, what, self.number, epoch, batch, took, middle, steps, self.length, ended=ended)
        if change == "slow":
            event = event._replace(took=usual.slow.mean)
        elif change == "usual":
            event = event._replace(mean=usual.slow.mean)
            if what == "step time":
                event = event._replace(wait=self._slow_wait.mean, usual_wait=self._slow_wait.usual)
        self.owner.happened(event)

    @property
    def until(self) -> int:
        """When its latest epoch was over, or gave a batch last; 0: it has given none, or is gone."""
        latest = None if self.latest is None else self.latest()
        return 0 if latest is None else latest.until

    def built(self, facts: Facts, over: int, began: int) -> None:
        """A worker's batch that is measured has come in; perhaps in torch's pinning thread.

        Between two epochs nobody has anything to do for its worker: that is no time in which it is starved.

        Args:
            over: when the loader's epoch before was.
            began: when the batch's own did.
        """
        if facts.started and facts.before != UNKNOWN:
            self.tally.add_built(facts.finished - facts.started, _starved(facts, over, began))

    def first_of(self, facts: Facts, over: int, began: int) -> None:
        """A worker's first batch of an epoch, whose wait the worker does not know; otherwise as `built`."""
        if facts.started and facts.before != UNKNOWN:
            known = self._first_starved.get(facts.pid, 0)
            self._first_starved[facts.pid] = known + _starved(facts, over, began)

    def is_last(self, batch: int) -> bool:
        """Whether the worker that makes it makes no other in the epoch."""
        return self._tells is not None and batch >= self._tells

    def last(self, samples: sums.Samples, attempts: sums.Attempts, **where: int) -> None:
        """Of a worker's last batch, whose stages count for nothing: they would be of epochs' ends.

        Its failures are those of a measured batch, all of whose stages are seen.
        """
        self._attempted(samples, attempts, **where)

    def measured(self, stages: dict[str, int], samples: sums.Samples, attempts: sums.Attempts, **where: int) -> None:
        """
        Args:
            where: epoch, batch, and worker where there is one.
        """
        tally = self.tally
        tally.measured += 1
        for name, time in stages.items():
            tally.stage_ns[name] += time
        self._attempted(samples, attempts, **where)

    def _attempted(self, samples: sums.Samples, attempts: sums.Attempts, **where: int) -> None:
        tally = self.tally
        tally.measured_samples += samples.number
        tally.failures.update(attempts.failures)
        tally.retries.update(attempts.retries)
        tally.add_slow_samples(_slow_samples(samples, **where))

    def noticed(self, noticed: Noticed, iteration: int, epoch: int, worker: int, pid: int) -> None:
        """What a worker saw of batches that were not measured, of this epoch and perhaps the one before."""
        tally = self.tally
        if noticed.batches:
            starved = noticed.starved + self._first_starved.pop(pid, 0)
            tally.add_all(noticed.batches, noticed.build, starved)
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


def _starved(facts: Facts, over: int, began: int) -> int:
    """Nanoseconds that a batch's worker waited for it while an epoch went on, see `Series.built`."""
    between = max(0, began - max(over, facts.before))
    return max(0, facts.started - facts.before - between)


def _slow_samples(samples: sums.Samples, **where: int) -> list[dict[str, Any]]:
    return [_slow_sample(took, index, files, **where) for took, index, files in samples.slowest if index >= 0]


def _slow_sample(took: int, index: int, files: tuple[str, ...], **where: int) -> dict[str, Any]:
    """As it stands in the file.

    Args:
        where: epoch, batch, and worker where there is one.
    """
    opened = {"files": list(files)} if files else {}
    return {"took_us": round(took / 1000, 1), "index": index, **where, **opened}
