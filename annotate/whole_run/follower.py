"""Finds the loaders of a run as they are iterated; a `following.Follower`."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from threading import get_native_id
from typing import Any, ClassVar, Final

from annotate.hooks import marked
from annotate.hooks.loaders import describe
from annotate.hooks.readers.registered import all_registered
from annotate.monitoring import next_calls
from annotate.monitoring.monitor import measuring
from annotate.monitoring.next_calls import NextCall
from annotate.recording.takers import Takers
from annotate.saying import guard, tell
from annotate.trace_format import LoaderMetadata
from annotate.whole_run.iterating import RunEpoch, RunIterator
from annotate.whole_run.series import Event, Here, Iterated, Series
from annotate.whole_run.thread_steps import ThreadSteps
from annotate.workers import following
from annotate.workers.batches import Iteration
from annotate.workers.content import Place
from annotate.workers.following import Missed
from annotate.workers.transport import Facts, Payload

_MOST_LOADERS: Final = 64
"""That have lines of their own; a program that makes a loader for each epoch goes on with the last."""


class RunFollower:
    """All loaders of a run."""

    def __init__(self, happened: Callable[[Event], None], away: Callable[[], AbstractContextManager[None]]) -> None:
        """`away`: there is no thread of the recorder's meanwhile."""
        self.latest: Iterated | None = None
        self._steps: Final[weakref.WeakSet[ThreadSteps]] = weakref.WeakSet()
        self.here = Here(self._steps)
        self.trouble: str | None = None
        """Why nothing is recorded any more, until the user has been told."""
        self.all: Final[list[Series]] = []
        self.settings: Final[list[LoaderMetadata]] = []
        """By number, as they were at the first ``iter(loader)``."""
        self.happened: Final = happened
        self.takers: Final = Takers()
        self._away: Final = away
        self._known: Final[weakref.WeakKeyDictionary[Any, Series]] = weakref.WeakKeyDictionary()
        self._epoch: RunEpoch | None = None
        """Of the iterator that is being made."""

    @property
    def thread(self) -> int | None:
        """The one that iterated the loader of most batches last, as the system numbers it: another may evaluate."""
        main = max(self.all, key=lambda series: series.batches, default=None)
        return None if main is None else main.thread

    def tell_trouble(self) -> None:
        """In the program's own thread: say why the recording has stopped, if it has, and let go."""
        text, self.trouble = self.trouble, None
        if text is not None:
            self.stop()
            tell(text)

    def stop(self) -> None:
        """Let go of all loaders and iterators. Harmless when that is so."""
        following.remove(self)
        next_calls.leave_next(self._leaves)
        next_calls.untime_classes()
        self.takers.end()
        for steps in list(self._steps):
            with guard("annotate.watch lost the last step of a thread"):
                steps.conclude()
        self.latest, self.here = None, Here(self._steps)

    def conclude(self) -> None:
        """No more batches come, of any loader."""
        for series in self.all:
            series.conclude()

    def _leaves(self, call: NextCall) -> bool:
        if not isinstance(call, RunIterator) or call.series.owner is not self:
            return False
        if call.epoch is not None:
            for listeners in (call.epoch.iteration.sampling, call.epoch.iteration.listeners):
                with suppress(ValueError):
                    listeners.remove(call.epoch)
        return True

    def _series_of(self, loader: Any) -> Series:
        known = self._known.get(loader)
        if known is not None:
            return known
        settings = describe(loader)
        series = self._gone_and_alike(settings)
        if series is None and len(self.all) >= _MOST_LOADERS:
            series = self.all[-1]
        if series is None:
            sizes = settings.get("batch_size", 1), _length_of(loader), settings.get("num_workers", 0)
            series = Series(len(self.all), self, *sizes, workers_end=not settings.get("persistent_workers", False))
            self.settings.append(settings)
            self.all.append(series)
        self._known[loader] = series
        series.tally.made += 1
        return series

    def _gone_and_alike(self, settings: LoaderMetadata) -> Series | None:
        """Of a program that makes its loaders anew for each epoch."""
        alive = {series.number for series in self._known.values()}
        for series, facts in zip(self.all, self.settings, strict=True):
            if facts == settings and series.number not in alive:
                return series
        return None

    # As a follower of loaders:

    counts_threads: ClassVar[bool] = False

    def wants(self, loader: Any) -> bool:
        self._epoch = None
        if self.trouble is not None:
            self.tell_trouble()
            return False
        return not marked.is_skipped(loader)

    def place(self, loader: Any) -> Place:
        return Place(os.getpid(), self._series_of(loader).number, readers=all_registered(), notices=True)

    def accepts(self, loader: Any, place: Place | None) -> bool:
        return True

    def missed(self, loader: Any, why: Missed) -> None:
        """Its steps and data wait are known all the same."""

    def listener(self, loader: Any, iteration: Iteration, hooks: ExitStack) -> RunEpoch | None:
        if not iteration.has_workers and iteration.iterable:
            hooks.enter_context(measuring(loader.dataset))
        if iteration.has_workers:
            hooks.enter_context(self._away())
        self._epoch = epoch = RunEpoch(self._series_of(loader), iteration)
        if not iteration.has_workers:
            return None  # `RunIterator` sees it all
        iteration.sampling.append(epoch)
        return epoch

    def begun(self, loader: Any, iterator: Any, began: int, iteration: Iteration | None) -> None:
        epoch, self._epoch = self._epoch, None
        series = self._series_of(loader)
        series.thread = get_native_id()
        call = RunIterator(series, epoch, partial(measuring, loader.dataset), began)
        series.epochs += 1
        series.latest = weakref.ref(call)
        with suppress(TypeError):  # of a class that cannot be watched
            next_calls.time_next(iterator, call)
            call.watch(iterator)

    def stray(self, facts: Facts, payload: Payload) -> None:
        pass


def _length_of(loader: Any) -> int | None:
    """Batches of an epoch; not asked of iterable datasets, since torch warns later when the answer was wrong."""
    if hasattr(type(loader.dataset), "__len__") and hasattr(type(loader.dataset), "__getitem__"):
        with suppress(Exception):  # code of the user's
            return len(loader)
    return None
