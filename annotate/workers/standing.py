"""The DataLoaders of a process in which something was annotated, followed until a profiler of the user's asks.

Their workers are dormant (`spool.DORMANT`) but for the time from a profiler's ``_prepare_trace`` to its ``__exit__``;
where they take turns, nothing travels with their batches meanwhile (`naps`).
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections import deque
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar, Final

from annotate.ending import at_end
from annotate.hooks.datasets import follow_iteration
from annotate.hooks.patching import Patches
from annotate.options import WorkerLimits
from annotate.recording import switch
from annotate.saying import guard
from annotate.trace_format import LoaderMetadata
from annotate.workers import following, naps
from annotate.workers.batches import Batch, Iteration
from annotate.workers.capturing import KEPT, Batches, Epoch, WorkerCapture
from annotate.workers.content import Place
from annotate.workers.following import Missed
from annotate.workers.loaders import Loaders
from annotate.workers.spool import Spool
from annotate.workers.transport import Facts, Payload

_KEPT_DORMANT: Final = 512
"""Batches remembered while nothing records: those on their way to the loop, of all loaders."""
_KEPT_EPOCHS: Final = 64
_SPOOL_BYTES: Final = 64 << 20

_WHY: Final[dict[Missed, str]] = {
    "late": (
        "its workers had started before the loader was annotated, or under annotate.profile. Call annotate.loader or "
        "annotate.auto before the loader's first iteration"
    ),
    "threads": "they are threads, which annotate does not record. Use processes for a capture",
}
_NOTHING_CAME: Final = (
    "the loop's loader was iterated before it was annotated, or annotate cannot follow its class. Call "
    "annotate.loader(loader) or annotate.auto() before the loop begins"
)


class StandingEpoch(Epoch):
    """One epoch of a loader, as it is listened to while nothing records too."""

    def __init__(self, batches: Batches, iteration: Iteration, loader: int, epoch: int, workers: StandingWorkers):
        super().__init__(batches, iteration, loader, epoch)
        self._workers = workers
        self._session = 0
        """The number of the last one that this epoch gave batches in."""
        self._workers_taking_turns = 0
        self._woken: Final[dict[int, Batch]] = {}
        """By number: drawn while asleep, and on their way as a profiler prepared."""

    def may_sleep(self, iterator: Any) -> bool:
        """Whether the worker of each batch is known without asking, and nobody else listens to all of them."""
        iteration = self.iteration
        if not self._is_alone():
            return False
        if iteration.in_threads:
            return False
        if iteration.has_workers:
            self._workers_taking_turns = naps.workers_taking_turns(iterator)
            return iteration.in_order and not iteration.iterable and self._workers_taking_turns > 0
        return True

    def fall_asleep(self) -> None:
        """No profiler is at work."""
        self._woken.clear()
        if self._is_alone():
            self.iteration.fall_asleep(self._passed)

    def _is_alone(self) -> bool:
        iteration = self.iteration
        return self in iteration.listeners and len(iteration.listeners) == 1 + len(iteration.sampling)

    def wake(self) -> None:
        """A profiler prepares. Harmless when it is awake."""
        if self.iteration.asleep is None:
            return
        for batch in self.iteration.wake():
            batch.loader, batch.epoch = self.loader, self.epoch
            self._batches.kept.append(batch)
            self._woken[batch.batch] = batch

    def _passed(self) -> None:
        """A batch is handed out, or with zero workers about to be made, while asleep."""
        if self._workers.on_any_batch is not None:
            self._workers.on_any_batch(self)

    def arrived(self, batch: Batch, facts: Facts, payload: Payload) -> None:
        super().arrived(batch, facts, payload)
        finished = payload.get(naps.NAME)
        if finished:
            naps.note(batch, finished, self._woken, self._workers_taking_turns)

    def drawn(self, batch: Batch, indices: object) -> None:
        if not self.iteration.has_workers:
            self._handed_out(batch.drawn or 0)
        elif not self.iteration.in_threads:
            batch.loader, batch.epoch = self.loader, self.epoch
            self._batches.kept.append(batch)

    def consumed(self, batch: Batch) -> None:
        self._handed_out(batch.consumed or 0)

    def _handed_out(self, now: int) -> None:
        workers = self._workers
        if workers.is_armed:
            self._note(now)
        if workers.on_any_batch is not None:
            workers.on_any_batch(self)

    def _note(self, now: int) -> None:
        """A batch is handed out, or with zero workers about to be made, while a profiler is at work."""
        workers = self._workers
        if self._session != workers.sessions:
            self._session = workers.sessions
            workers.loaders.in_use[self.loader] = workers.loaders.in_use.get(self.loader, 0) + 1
        if workers.on_batch is not None:
            workers.on_batch(now)


class StandingWorkers(WorkerCapture):
    """As a capture's, from the first annotate call to the process's end. `begin` and `end` are a session's."""

    why: ClassVar[dict[Missed, str]] = _WHY
    nothing_came: str = _NOTHING_CAME
    counts_threads: ClassVar[bool] = True

    def __init__(self) -> None:
        self.loaders: Final = Loaders()
        self.is_armed = False
        """From a profiler's ``_prepare_trace`` to its ``__exit__``."""
        self.sessions = 0
        self.on_loader: Callable[[object], None] | None = None
        """Called with every loader that is iterated while armed."""
        self.on_batch: Callable[[int], None] | None = None
        """Called with the moment (``perf_counter_ns``) of each batch that is handed out while armed."""
        self.on_any_batch: Callable[[StandingEpoch], None] | None = None
        """Called for each batch that is handed out, or with zero workers about to be made, armed or not."""
        self.on_exit: Callable[[], None] | None = None
        """Called when the process ends, while what the workers have recorded is still there."""
        self.strangers: Final[dict[int, str]] = {}
        """Workers of iterators that were there before us, and how they were started; only looked at from outside."""
        self._sleepers: Final[weakref.WeakSet[StandingEpoch]] = weakref.WeakSet()
        """Epochs that sleep while no profiler is at work."""
        self._pid = os.getpid()
        super().__init__(self.loaders.number_of, Patches(), WorkerLimits(spool_bytes=_SPOOL_BYTES))

    def install(self) -> None:
        """Follow the loaders that are iterated from now on."""
        following.add(self)

    def remove(self) -> None:
        """Let go of everything."""
        self.on_loader = self.on_batch = self.on_any_batch = None
        self.is_armed = False
        atexit.unregister(self._at_exit)
        for epoch in self._sleepers:
            epoch.iteration.asleep = None
        self._sleepers.clear()
        super().end()

    def begin(self) -> None:
        """A profiler prepares: have the workers keep what they do."""
        self.sessions += 1
        self.is_armed = True
        self.loaders.in_use.clear()
        for epoch in list(self._sleepers):
            epoch.wake()
        if self.spool is not None:
            self.spool.arm()

    def end(self) -> None:
        """The profiler is done, and what it recorded has been kept or given up."""
        self.is_armed = False
        self.on_loader = self.on_batch = None
        self.window = None
        if self.spool is not None:
            self.spool.rest()
            self.spool.clear()
        for epoch in list(self._sleepers):
            epoch.fall_asleep()
        self._let_go()

    def pids(self) -> list[int]:
        return [*super().pids(), *self.strangers]

    def describe(self) -> list[LoaderMetadata]:
        """The settings of all loaders by number, and which gave batches in the session."""
        in_use, in_window = self.loaders.in_use, self.iterated_in_window
        described: list[LoaderMetadata] = [
            {**facts, "iterated": in_use.get(number, 0), "iterated_in_window": in_window.get(number, 0)}
            for number, facts in enumerate(self.loaders.settings)
        ]
        if len(described) > 1:
            there = self.loaders.there()
            for number, facts in enumerate(described):
                facts["gone"], facts["passes_us"] = number not in there, self.passes.of(number)
        return described

    def _let_go(self) -> None:
        """Of what no later window can need."""
        batches = self.batches
        outstanding = [batch for batch in batches.kept if batch.consumed is None][-_KEPT_DORMANT:]
        batches.kept = deque(outstanding, maxlen=_KEPT_DORMANT)
        here = {(batch.loader, batch.pid) for batch in outstanding}
        asleep = {epoch.iteration.number for epoch in self._sleepers}
        here |= {key for key, facts in batches.workers.items() if facts.iteration in asleep}
        for of_workers in (batches.workers, batches.losses):
            for key in [key for key in of_workers if key not in here]:
                del of_workers[key]

    def hook_for_the_capture(self, loader: Any) -> None:
        """Every class of loaders is followed where it makes its iterators."""

    # As a follower of loaders:

    def wants(self, loader: Any) -> bool:
        if switch.CAPTURING and not self.is_armed:  # an annotate.profile is on, and follows for itself
            return False
        number = self.loaders.iterated(loader)
        self._note_iterated(number)
        if number is not None and self.on_loader is not None:
            self.on_loader(loader)
        return number is not None

    def accepts(self, loader: Any, place: Place | None) -> bool:
        return place is None or super().accepts(loader, place)  # None: it has no workers

    def listener(self, loader: Any, iteration: Iteration, hooks: ExitStack) -> StandingEpoch:
        number = self._number_of(loader) or 0
        epoch = self._epochs.get(number, 0)
        self._epochs[number] = epoch + 1
        if not iteration.has_workers and iteration.iterable and not self.is_armed:
            hooks.enter_context(_following_iteration(loader.dataset))
        epochs = self.batches.epochs
        while len(epochs) >= _KEPT_EPOCHS and not self.is_armed:
            del epochs[next(iter(epochs))]
        if not self.is_armed:
            self._let_go()
        epochs[iteration.number] = heard = StandingEpoch(self.batches, iteration, number, epoch, self)
        return heard

    def begun(self, loader: Any, iterator: Any, began: int, iteration: Iteration | None) -> None:
        super().begun(loader, iterator, began, iteration)
        epoch = None if iteration is None else self.batches.epochs.get(iteration.number)
        if isinstance(epoch, StandingEpoch) and epoch.may_sleep(iterator):
            self._sleepers.add(epoch)
            if not self.is_armed:
                epoch.fall_asleep()

    def stray(self, facts: Facts, payload: Payload) -> None:
        if self.is_armed:
            super().stray(facts, payload)

    def open_window(self) -> None:
        self.batches.kept = deque(self.batches.kept, maxlen=KEPT)
        super().open_window()

    def _made_spool(self) -> Spool | None:
        if self.spool is None and self._failed is None:
            try:
                made = Spool(is_dormant=not self.is_armed)
            except OSError as error:
                self._failed = str(error)
                return None
            if self._publish(made):
                at_end(self._at_exit)
        return self.spool

    def _at_exit(self) -> None:
        if os.getpid() == self._pid and self.spool is not None:
            if self.on_exit is not None:
                self.on_exit()
            with guard("annotate left a folder for temporary files behind"):
                self.spool.remove()


@contextmanager
def _following_iteration(dataset: object) -> Generator[None, None, None]:
    patches = Patches()
    try:
        with guard("annotate does not time the samples of an iterable dataset"):
            follow_iteration(patches, dataset)
        yield
    finally:
        patches.undo()
