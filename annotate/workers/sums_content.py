"""Time by kind of stage and by stage, summed over one batch: a content of those batches that somebody asks about."""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

from annotate.hooks import readers
from annotate.hooks.patching import Patches
from annotate.recording import between, sums, switch
from annotate.saying import guard
from annotate.workers.transport import Tag

NAME: Final = "sums"
NOTICED: Final = "noticed"
"""Of batches that take along what their worker has noticed, and are not measured."""


class BatchSums(NamedTuple):
    """Of one batch; nanoseconds of self time."""

    kinds: sums.Sums
    stages: dict[str, int]
    samples: sums.Samples
    attempts: sums.Attempts
    """Also of the measured batches before it that raised, which carried nothing."""
    noticed: between.Noticed
    """Of the batches since the last one that was measured."""

    def sent(self) -> tuple[object, ...]:
        """As it travels: a class of ours would be looked up by its name on both sides."""
        number, slowest = self.samples
        samples = number, [tuple(each) for each in slowest]
        return (self.kinds, self.stages, samples, tuple(self.attempts), _sent(self.noticed))

    @classmethod
    def received(cls, sent: Any) -> BatchSums:
        kinds, stages, (number, slowest), attempts, noticed = sent
        samples = sums.Samples(number, tuple(sums.Sample(*each) for each in slowest))
        return cls(kinds, stages, samples, sums.Attempts(*attempts), noticed_of(noticed))


def _sent(noticed: between.Noticed) -> tuple[object, ...]:
    others, failures, slow, *work = noticed
    return (others, failures, [tuple(each) for each in slow], *work)


def due(finished: int) -> dict[str, object] | None:
    """What is to travel with a batch that nobody asked about, if anything is."""
    return {NOTICED: _sent(between.take())} if between.is_due(finished) else None


def noticed_of(sent: Any) -> between.Noticed:
    """As it was before it travelled."""
    others, failures, slow, *work = sent
    return between.Noticed(others, failures, tuple(between.SlowSample(*each) for each in slow), *work)


class NoticedContent:
    """Takes along what the worker has noticed, with its last batch of an epoch: that may be the last of a run."""

    name = NOTICED

    def begin(self, tag: Tag) -> None:
        pass

    def started(self, now: int) -> None:
        pass

    def finish(self, started: int, finished: int) -> tuple[object, ...]:
        return _sent(between.take())

    def fail(self) -> None:
        pass


class SumsContent:
    """Measures a batch that wants it, unless a window is being recorded."""

    name = NAME

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._is_measuring = False
        self._modules = 0
        """As many had been imported when readers were put in."""
        self._before: list[sums.Attempts] = []
        """Of batches that raised since a measured one has left."""

    def begin(self, tag: Tag) -> None:
        if self._is_measuring:  # the batch before has raised
            self.fail()
        if not switch.RECORDING:
            if len(sys.modules) != self._modules:
                self._modules = len(sys.modules)
                with guard("annotate does not time what a DataLoader worker reads"):  # libraries imported by now
                    readers.install(self._patches)
            switch.install(sums.RECORDER)
            self._is_measuring = True

    def started(self, now: int) -> None:
        if self._is_measuring:
            sums.start()

    def finish(self, started: int, finished: int) -> tuple[object, ...] | None:
        if not self._is_measuring:
            return None
        self._is_measuring = False
        kinds = sums.stop(finished - started)
        before, self._before = self._before, []
        attempts = sums.together([*before, sums.attempts()])
        return BatchSums(kinds, sums.stages(), sums.samples(), attempts, between.take()).sent()

    def fail(self) -> None:
        if self._is_measuring:
            self._is_measuring = False
            sums.stop(0)
            self._before = [sums.together([*self._before, sums.attempts()])]
