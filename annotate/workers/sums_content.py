"""Time by kind of stage and by stage, summed over one batch: a content of those batches that somebody asks about."""

from __future__ import annotations

from typing import Final, NamedTuple

from annotate.hooks import readers
from annotate.hooks.patching import Patches
from annotate.recording import sums, switch
from annotate.saying import guard
from annotate.workers.transport import Tag

NAME: Final = "sums"


class BatchSums(NamedTuple):
    """Of one batch; nanoseconds of self time."""

    kinds: sums.Sums
    stages: dict[str, int]


class SumsContent:
    """Measures a batch that wants it, unless a window is being recorded."""

    name = NAME

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._is_measuring = False

    def begin(self, tag: Tag) -> None:
        if self._is_measuring:  # the batch before has raised
            self.fail()
        if not switch.RECORDING:
            with guard("annotate does not time what a DataLoader worker reads"):  # libraries imported by now
                readers.install(self._patches)
            switch.install(sums.RECORDER)
            self._is_measuring = True

    def started(self, now: int) -> None:
        if self._is_measuring:
            sums.start()

    def finish(self, started: int, finished: int) -> BatchSums | None:
        if not self._is_measuring:
            return None
        self._is_measuring = False
        return BatchSums(sums.stop(finished - started), sums.stages())

    def fail(self) -> None:
        if self._is_measuring:
            self._is_measuring = False
            sums.stop(0)
