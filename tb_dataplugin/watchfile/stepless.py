"""Why a run has no step that could be timed."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.units import count, plural
from tb_dataplugin.watchfile.lines import LoaderNumbers
from tb_dataplugin.watchfile.reading import Run

NO_STEP: Final = "no step was recorded"
_RECORDED: Final = "a profiler was at work meanwhile"
_OTHERS: Final = "batches of another DataLoader came between"


def why_no_step(run: Run) -> str:
    """What follows on `NO_STEP` and a colon. Of a run that has none."""
    numbers = [each for interval in run.intervals for each in interval.loaders]
    main = _with_most_batches(run)
    if left_out := sum(each.unused_steps for each in main):
        were = "its only step was" if left_out == 1 else f"all its {plural(left_out, 'step')} were"
        return f"{were} left out, since {_reason(main, left_out, is_alone=len({each.loader for each in numbers}) == 1)}"
    if any(each.epochs for each in numbers):
        return "a step is from one batch to the next, and no pass over a DataLoader gave two"
    if not run.intervals and not run.parts[-1].has_ended:
        return "its first interval was never written: the process still runs, or was killed before"
    return "no batch of a DataLoader was seen"


def _with_most_batches(run: Run) -> list[LoaderNumbers]:
    """What each process has of one of its loaders: of several with as many, the one that was iterated first."""
    found: list[LoaderNumbers] = []
    for part in run.parts:
        by_loader: dict[int, list[LoaderNumbers]] = {}
        for interval in part.intervals:
            for each in interval.loaders:
                by_loader.setdefault(each.loader, []).append(each)
        batches = {loader: sum(each.unused_steps for each in of) for loader, of in by_loader.items()}
        main = max(batches, key=lambda loader: (batches[loader], -loader), default=None)
        found += [] if main is None else by_loader[main]
    return found


def _reason(numbers: list[LoaderNumbers], left_out: int, *, is_alone: bool) -> str:
    recorded = sum(each.profiled_steps for each in numbers)
    if recorded == left_out or is_alone:
        return _RECORDED
    if not any(each.profiled_samples for each in numbers) and any(each.made for each in numbers):
        return _OTHERS
    if not recorded:  # an earlier version did not count them
        return f"{_RECORDED} or {_OTHERS}"
    return f"{_RECORDED} ({count(recorded)} of them) or {_OTHERS} (the others)"
