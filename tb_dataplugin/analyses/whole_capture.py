"""What all of a capture shows of its DataLoaders, also where only some of its steps are looked at.

What becomes of an iterator, which loader is evaluated on and which epoch begins are facts of the program. Some steps
alone may have a part of an iterator, or the first of several starts: they would show something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tb_dataplugin.analyses.flow import EpochStart, find_epoch_starts
from tb_dataplugin.analyses.head_of_line import unordered_loaders
from tb_dataplugin.analyses.loader_passes import UNKNOWN
from tb_dataplugin.analyses.loader_use import LoaderUse, find_loader_use
from tb_dataplugin.analyses.loader_wait import LoaderWait, find_loader_wait
from tb_dataplugin.analyses.steps import Steps, StepSelection, find_steps
from tb_dataplugin.analyses.workers import BatchTimes, match_waits
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import Trace

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class WholeCapture:
    """`starts`: of epochs, of all loaders. The rest is what the analyses of that name find in all of its steps."""

    window: Window
    steps: Steps | None
    loader: LoaderWait | None
    batches: BatchTimes | None
    use: LoaderUse
    starts: tuple[EpochStart, ...]

    def starts_in(self, window: Window) -> tuple[EpochStart, ...]:
        """As far as they are in it."""
        clipped = (
            replace(start, wait=start.wait.clip(window), building=start.building.clip(window)) for start in self.starts
        )
        return tuple(start for start in clipped if len(start.wait))

    def waits_of(self, number: int) -> Intervals:
        """For batches of that loader."""
        if self.loader is None:
            return EMPTY
        mine = self.use.of_wait == number
        return Intervals(self.loader.waits.start[mine], self.loader.waits.end[mine])


def find_recorded_wait(trace: Trace, selection: StepSelection) -> LoaderWait | None:
    """Of all recorded steps, of which `selection` has some."""
    return _known(find_loader_wait(trace, selection.whole, ()))


def find_whole_capture(
    trace: Trace,
    window: Window,
    steps: Steps | None,
    loader: LoaderWait | None,
    batches: BatchTimes | None,
    selection: StepSelection | None,
) -> WholeCapture:
    """`window`, `steps`, `batches`: of what is looked at, which is all of it without a selection; `loader`: of all."""
    if selection is not None:
        window = selection.whole
        steps = _known(find_steps(trace))
        unordered = unordered_loaders(trace.info.pipeline.loaders if trace.info.pipeline else ())
        batches = match_waits(batches.table, loader, unordered, window) if batches is not None else None
    use = find_loader_use(trace, steps, loader, batches)
    starts = find_epoch_starts(trace, loader, window, batches)
    return WholeCapture(window, steps, loader, batches, use, tuple(_with_loader(starts, loader, use)))


def _with_loader(starts: Sequence[EpochStart], loader: LoaderWait | None, use: LoaderUse) -> Iterator[EpochStart]:
    """Each with whose epoch it is: that which its last wait was for."""
    for start in starts:
        of = -1 if loader is None else int(np.searchsorted(loader.waits.start, start.wait.start[-1], side="right")) - 1
        number = int(use.of_wait[of]) if of >= 0 else UNKNOWN
        yield replace(start, loader=number if number >= 0 else None)


def _known(found: Found | Unavailable) -> Found | None:
    return None if isinstance(found, Unavailable) else found
