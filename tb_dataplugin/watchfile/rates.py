"""Samples per second by the clock: pauses, evaluations and checkpoints are in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tb_dataplugin.watchfile.lines import CaptureLine, IntervalLine
from tb_dataplugin.watchfile.reading import Part, Run

Recorded = tuple[CaptureLine, float]
"""A window, and when recording began."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`of`: what of the run it is of, in words."""

    samples_per_s: float
    of: str


def rate_of(run: Run) -> Rate:
    """Of a run; recording takes time as well, so that times in which a window was recorded are left out."""
    own = [one for part in run.parts for one in without_recorded(part.intervals, list(recorded_in(part)))]
    of_own = rate(own)
    whole = f"of the whole run{_together(run.intervals)}"
    if of_own is None:
        return Rate(rate(run.intervals) or 0.0, f"{whole}, with the times in which a window was recorded")
    return Rate(of_own, f"{whole}{_left_out(own, run.intervals)}")


def _together(intervals: Sequence[IntervalLine]) -> str:
    """Steps are those of one DataLoader; samples of an evaluation's count as well."""
    loaders = {each.loader for interval in intervals for each in interval.loaders if each.samples}
    return ", all DataLoaders together" if len(loaders) > 1 else ""


def _left_out(own: Sequence[IntervalLine], of_all: Sequence[IntervalLine]) -> str:
    if len(own) < len(of_all):
        return ", without times in which a window was recorded"
    return ", without the time to record windows" if any(one.recording_us for one in own) else ""


def rate(intervals: Sequence[IntervalLine]) -> float | None:
    """Of all loaders, without the time for which recording stopped the program; None where there are no samples."""
    samples = sum(each.samples for interval in intervals for each in interval.loaders)
    seconds = sum(interval.end - interval.begin - interval.recording_us / 1e6 for interval in intervals)
    return samples / seconds if samples and seconds > 0 else None


def without_recorded(intervals: Sequence[IntervalLine], recorded: Sequence[Recorded]) -> list[IntervalLine]:
    """How much of them recording took is not known, and the rate of timed steps is another one, without the time
    between epochs.
    """
    return [one for one in intervals if not any(since < one.end and line.t > one.begin for line, since in recorded)]


def recorded_in(part: Part) -> Iterator[Recorded]:
    """Each window once, whatever it is of."""
    events = {event.number: event.t for event in part.events if event.change != "usual"}
    seen = set()
    for line in part.captures:
        begin = line.begin if line.begin is not None or line.event is None else events.get(line.event)
        if line.capture and line.capture not in seen and begin is not None:
            seen.add(line.capture)
            yield line, begin
