"""What a run's recorder sees of one iterator: each ``next()``, each batch on its way, and what lies before it."""

from __future__ import annotations

from _thread import get_ident
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from time import perf_counter_ns as clock
from typing import Any, Final
from weakref import ref

from annotate.monitoring.lines import one_at_a_time
from annotate.recording import boundaries, recording_time, sums, switch
from annotate.recording.between import Noticed
from annotate.saying import guard, report_error
from annotate.whole_run.lying_ready import counter_of
from annotate.whole_run.series import AT_ONCE, Iterated, Series
from annotate.whole_run.thread_steps import Taken
from annotate.workers import following, sums_content
from annotate.workers.batches import Batch, Iteration
from annotate.workers.standing import StandingWorkers
from annotate.workers.sums_content import BatchSums
from annotate.workers.transport import UNKNOWN, Facts, Payload

_LOST: Final = "annotate.watch does not follow a DataLoader"
_EVERY: Final = 20
"""Of so many batches of a loader with workers, one has its stages measured."""
_GOLDEN: Final = 0.6180339887498949
_BETWEEN_NS: Final = 2_000_000_000
"""Without workers: from one measured batch to the next, whose hooks have to go in and out."""
_ASKED: Final = 512
"""Times; more batches than that do not lie ready."""
_SEVERAL: Final = -1
"""In place of a thread: more than one takes the batches, as in a pool."""


def is_recorded() -> bool:
    """Whether a profiler is at work or may begin within a wait: its hooks must not meet those of a measured batch."""
    return switch.AT_WORK or any(
        isinstance(follower, StandingWorkers) and follower.on_any_batch is not None for follower in following._followers
    )


class RunEpoch:
    """One epoch of a series, as it listens to its batches; a `batches.Sampling` where there are workers."""

    def __init__(self, series: Series, iteration: Iteration) -> None:
        self.iteration: Final = iteration
        self.is_measured = False
        """Without workers: this moment."""
        self.asked: Final[deque[int]] = deque(maxlen=_ASKED)
        """When the loop asked for its latest batches; unless `is_counted`."""
        self.is_counted = False
        """How many batches lie ready is counted whenever the loop asks."""
        self._size = 0
        """Of the batch that was handed out and that `consumed` was told of, in samples; 0: none was."""
        self._series: Final = series
        self._number: Final = series.epochs
        self._sizes: Final[dict[int, int]] = {}
        self._chosen: Final[set[int]] = set()
        """Those that are measured. Others are known, too, above all an epoch's first ones: with them, what is summed up
        would be of the gaps between epochs."""
        self._last: Final[set[int]] = set()
        """Those that only tell what their worker has noticed."""
        self._heard: Final[set[int]] = set()
        """Pids of the workers that have sent a batch."""
        self._over: Final = series.until
        self._began: Final = clock()
        """Between both no epoch of the loader went on."""

    def drawn(self, batch: Batch, indices: object) -> str | None:
        return self.drawn_asleep(batch.batch, indices)

    def drawn_asleep(self, number: int, indices: object) -> str | None:
        self._sizes[number] = self._size_of(indices)
        period, place = divmod(self._series.drawn, _EVERY)
        self._series.drawn += 1
        if place != int((period + 2) * _GOLDEN % 1 * _EVERY):
            if not self._series.is_last(number):
                return None
            if not self._series.workers_end:
                return sums_content.NOTICED
            self._last.add(number)
            return sums_content.NAME
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
        if facts.pid not in self._heard:
            self._heard.add(facts.pid)
            series.first_of(facts, self._over, self._began)
        sent = payload.get(sums_content.NAME)
        if sent is not None:
            measured = BatchSums.received(sent)
            where = {"epoch": self._number, "batch": facts.batch, "worker": facts.worker}
            if facts.batch in self._last:
                series.last(measured.samples, measured.attempts, **where)
            else:
                series.built(facts, self._over, self._began)
                series.measured(measured.stages, measured.samples, measured.attempts, **where)
            self._noticed(measured.noticed, facts)
        self.told(facts, payload)
        if facts.serialised != UNKNOWN and facts.serialise != UNKNOWN:
            series.tally.serialised += 1
            series.tally.serialise_ns += facts.serialised - facts.serialise
            series.tally.deserialise_ns += max(0, (batch.arrived or 0) - facts.deserialise)

    def told(self, facts: Facts, payload: Payload) -> None:
        noticed = payload.get(sums_content.NOTICED)
        if noticed is not None:
            self._noticed(sums_content.noticed_of(noticed), facts)

    def _noticed(self, noticed: Noticed, facts: Facts) -> None:
        where = {"epoch": self._number, "worker": facts.worker, "pid": facts.pid}
        self._series.noticed(noticed, facts.iteration, **where)

    def consumed(self, batch: Batch) -> None:
        self._size = self._sizes.pop(batch.batch, self._series.batch_size)
        finished = batch.finished
        if finished is not None and batch.batch in self._chosen and not self.is_counted:
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
        self._hooks = hooks
        self._began: Final = began
        self._recorded_before: Final = recording_time.done_ns
        self._number: Final = series.epochs
        self.batches = 0
        self._leads_alone = False
        """Since its latest batch, its thread's steps have been its own."""
        self._previous = 0
        """When its last batch was handed out; 0: none was."""
        self._thread = 0
        """The one that takes its batches; 0: none has yet."""
        self.recorded_ns = 0
        """What recording had taken of the program until then."""
        self._turns = switch.turns
        """As they were then; where they have changed, the time since then says nothing."""
        self._is_over = False
        self._measure_at = began
        self.iterator: ref[Any] | None = None
        self._lie_ready: Callable[[Any], int] | None = None

    @property
    def until(self) -> int:
        """When its last batch was handed out, or its end was found; 0: it gave none."""
        return self._previous

    @property
    def _is_undisturbed(self) -> bool:
        """No profiler has been at work since its last batch, nor anything else of ours."""
        return switch.turns == self._turns and not switch.AT_WORK

    @property
    def is_left(self) -> bool:
        """Nobody will have another batch of it."""
        return self._is_over or (self.iterator is not None and self.iterator() is None)

    def watch(self, iterator: Any) -> None:
        """Raises: TypeError: it cannot be referred to weakly."""
        self.iterator = ref(iterator)
        if self.epoch is not None and self.epoch.iteration.has_workers:
            self._lie_ready = counter_of(iterator, self.epoch.iteration)
            self.epoch.is_counted = self._lie_ready is not None

    def next_of(self, iterator: Any, method: Callable[[Any], Any]) -> Any:
        begin, ready = clock(), 0
        epoch, lie_ready = self.epoch, self._lie_ready
        has_workers = epoch is not None and epoch.iteration.has_workers
        if lie_ready is not None:
            ready = self._counted(lie_ready, iterator)
        elif epoch is not None and has_workers:
            epoch.asked.append(begin)
        try:
            if epoch is not None and not has_workers and begin >= self._measure_at and not is_recorded():
                data = self._measured(epoch, iterator, method)
            else:
                data = method(iterator)
        except Exception as error:
            with guard(_LOST):
                self._came_none(begin, error)
            raise
        try:
            if lie_ready is not None:
                tally = self.series.tally
                tally.ready += ready
                tally.asked += 1
            self._came(begin, clock())
        except Exception as error:  # a fault of ours costs a record, never a batch
            report_error(_LOST, error)
        return data

    def _counted(self, lie_ready: Callable[[Any], int], iterator: Any) -> int:
        try:
            return lie_ready(iterator)
        except Exception as error:  # a fault of ours costs a record, never a batch
            self._lie_ready = None
            report_error(_LOST, error)
        return 0

    def _came(self, begin: int, now: int) -> None:
        """A batch is handed out: mostly, a tuple is put down and that is all."""
        series, previous = self.series, self._previous
        owner, wait = series.owner, now - begin
        owner.takers.took(series.takings, with_gradients=boundaries.took_batch())
        series.batches += 1
        self.batches += 1
        size = series.batch_size if self.epoch is None else self.epoch.size_of_latest()
        before = self._before()
        is_alone = before is self and self._leads_alone and self._is_undisturbed and owner.trouble is None
        if is_alone and previous and series.is_calm(now - previous, wait):
            if owner.latest is not self:
                owner.latest = self
                series.tally.beside_ns += now - previous
            self._previous, self.recorded_ns = now, recording_time.done_ns
            series.recent.append((now - previous, wait, size))
            if len(series.recent) >= AT_ONCE or series.to_learn:
                series.settle()
            return
        self._came_otherwise(begin, now, size, before)

    def _before(self) -> Iterated | None:
        """The iterator whose batch came to the calling thread before: other threads work beside it. Where several take
        the batches of this one, none is the loop's own, and it is the one whose batch came last to any.
        """
        owner, thread = self.series.owner, get_ident()
        latest = owner.latest
        if thread == self._thread:
            return latest if latest is self else owner.here.latest
        if self._thread:
            self._thread, owner.here.latest = _SEVERAL, self
            return latest
        self._thread, own = thread, owner.here.latest
        is_next = latest is not None and latest.series is self.series and latest.is_left  # perhaps in a thread each
        return latest if own is None or is_next else own

    def _came_otherwise(self, begin: int, now: int, size: int, latest: Iterated | None) -> None:
        """`latest`: of `_before`."""
        series, owner, batch, previous = self.series, self.series.owner, self.batches - 1, self._previous
        series.tally.samples += size
        if owner.trouble is not None:
            owner.tell_trouble()
        is_undisturbed, self._turns = self._is_undisturbed, switch.turns
        is_alone = latest is self and is_undisturbed
        here = owner.here
        of_any, own, owner.latest, here.latest = owner.latest, here.latest, self, self
        began, recorded = (self._began, self._recorded_before), recording_time.done_ns
        until, known = began if latest is None else (latest.until, latest.recorded_ns)  # before this one moves it
        beside = (0, 0) if of_any is None or of_any is own else (of_any.until, of_any.recorded_ns)
        self._previous, self.recorded_ns = now, recorded
        is_outside = beside[0] <= until  # of other threads' steps as well
        if not batch:
            if is_outside and latest is not None and (latest.is_left or latest.series is series):
                series.tally.add_between(self._began - until - (self._recorded_before - known))
            series.tally.epochs += 1
            series.in_steps.begin(series.batches)
        since = (until, known) if batch else began
        first = now - (begin if until > self._began else self._began)
        span = _took(now, recorded, (until, known))
        taken = Taken(
            series, self._number, batch, size,
            step=(now - previous if previous else 0) if batch else first,
            wait=now - begin,
            span=span,
            other=span if batch else _took(now, recorded, since),
            profiled=0 if is_undisturbed else _took(now, recorded, since, beside),  # of all threads together
            beside=now - since[0] if beside > since else 0,
            is_alone=is_alone,
            is_undisturbed=is_undisturbed,
            is_nested=begin < until and batch > 0,
        )  # fmt: skip
        self._hand_on(taken)

    def _hand_on(self, taken: Taken) -> None:
        """To the steps of the calling thread; where several take the batches of this one, it has no part in them."""
        steps = self.series.owner.here.steps
        if self._thread == _SEVERAL:
            steps.conclude()
            taken.count_alone()
        else:
            steps.came(self, taken)
        self._leads_alone = steps.leads_alone(self)

    def _came_none(self, asked: int, error: Exception) -> None:
        """It is at its end, where its last step ends as well; or something is wrong."""
        if not isinstance(error, StopIteration):
            self.series.tally.raised += 1
            return
        before, owner = self._before(), self.series.owner
        if self._is_over or before is None or not self._previous:
            return
        is_alone, recorded, of_any = before is self, recording_time.done_ns, owner.latest
        since = (before.until, before.recorded_ns)
        beside = since if of_any is None or of_any is before else (of_any.until, of_any.recorded_ns)
        took = _took(asked, recorded, since)
        taken = Taken(
            self.series, self._number, -1, 0, step=0, wait=0, span=took, other=took,
            profiled=0 if self._is_undisturbed else _took(asked, recorded, since, beside),
            beside=asked - since[0] if beside > since else 0,
            is_alone=is_alone, is_undisturbed=self._is_undisturbed, is_nested=asked < since[0],
        )  # fmt: skip
        self._is_over = True
        if owner.here.steps.is_led_by(self) and not is_alone:
            owner.here.latest = self
            owner.latest = self if of_any is before else of_any
        if is_alone or owner.here.latest is self:
            self._previous, self.recorded_ns = asked, recorded
        self._hand_on(taken)
        self._hooks = nullcontext  # with them the dataset: the program may be about to make another

    def _measured(self, epoch: RunEpoch, iterator: Any, method: Callable[[Any], Any]) -> Any:
        """The next batch, made in this thread."""
        if not one_at_a_time.acquire(blocking=False):
            return method(iterator)
        hooks = ExitStack()
        try:
            with guard(_LOST):
                if hooks.enter_context(self._hooks()):
                    epoch.is_measured = True
                    sums.start()
            begin, is_batch = clock(), True
            try:
                return method(iterator)
            except StopIteration:
                is_batch = False
                raise
            finally:
                self._note(epoch, hooks, clock() - begin, is_batch=is_batch)
        finally:
            one_at_a_time.release()

    def _note(self, epoch: RunEpoch, hooks: ExitStack, took: int, *, is_batch: bool) -> None:
        was_measured, epoch.is_measured = epoch.is_measured, False
        with guard(_LOST):
            if was_measured:
                sums.stop(took)
        with guard(_LOST):
            hooks.close()
        self._measure_at = clock() + _BETWEEN_NS
        if was_measured and is_batch:
            with guard(_LOST):
                where = {"epoch": self._number, "batch": self.batches}
                self.series.measured(sums.stages(), sums.samples(), sums.attempts(), **where)


def _took(now: int, recorded: int, *since: tuple[int, int]) -> int:
    """Nanoseconds without recording, from the latest of some moments, each with what recording had taken by then."""
    began, known = max(since)
    return max(0, now - began - (recorded - known))
