"""Why a run has no step that could be timed."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.units import plural
from tb_dataplugin.watchfile.reading import Run

NO_STEP: Final = "no step was recorded"


def why_no_step(run: Run) -> str:
    """What follows on `NO_STEP` and a colon. Of a run that has none."""
    numbers = [each for interval in run.intervals for each in interval.loaders]
    left_out = sum(each.unused_steps for each in numbers)
    if left_out:
        were = "its only step was" if left_out == 1 else f"all its {plural(left_out, 'step')} were"
        return f"{were} left out, since a profiler was at work meanwhile or batches of another DataLoader came between"
    if any(each.epochs for each in numbers):
        return "a step is from one batch to the next, and no pass over a DataLoader gave two"
    if not run.intervals and not run.parts[-1].has_ended:
        return "its first interval was never written: the process still runs, or was killed before"
    return "no batch of a DataLoader was seen"
