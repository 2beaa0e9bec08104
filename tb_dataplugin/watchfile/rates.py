"""Samples per second by the clock: pauses, evaluations and checkpoints are in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tb_dataplugin.units import duration
from tb_dataplugin.watchfile.lines import CaptureLine, IntervalLine
from tb_dataplugin.watchfile.reading import Part, Run

Recorded = tuple[CaptureLine, float]
"""A window, and when recording began."""


@dataclass(frozen=True, slots=True)
class Rate:
    """`of`: what of the run it is of, in words."""

    samples_per_s: float
    of: str


@dataclass(frozen=True, slots=True)
class _Rest:
    """What of a process is counted. `without`: what is left out, in words."""

    samples: int
    seconds: float
    without: tuple[str, ...]


def rate_of(run: Run) -> Rate:
    """Of a run; recording takes time as well, so that what it slowed is left out, as narrowly as the file knows it."""
    rests = [_rest(part) for part in run.parts]
    samples, seconds = sum(one.samples for one in rests), sum(one.seconds for one in rests)
    together = _together(run.intervals)
    without = " and ".join(dict.fromkeys(words for one in rests for words in one.without))
    if samples <= 0 or seconds <= 0:
        recorded = ", with the times in which a window was recorded" if without else ""
        return Rate(rate(run.intervals) or 0.0, f"of the whole run{together}{recorded}")
    return Rate(samples / seconds, _of(run, seconds, together, without))


def _rest(part: Part) -> _Rest:
    """Without the steps that recording slowed where the file has them, else without all of their intervals."""
    numbers = [each for interval in part.intervals for each in interval.loaders]
    if any(each.profiled_us for each in numbers):
        samples = sum(each.samples - each.profiled_samples for each in numbers)
        seconds = _seconds(part.intervals) - sum(each.profiled_us for each in numbers) / 1e6
        return _Rest(samples, seconds, ("the time to record windows and the steps that recording slowed",))
    own = without_recorded(part.intervals, list(recorded_in(part)))
    left_out = ("the intervals in which a window was recorded",) if len(own) < len(part.intervals) else ()
    still = ("the time to record windows",) if any(one.recording_us for one in own) else ()
    return _Rest(_samples(own), _seconds(own), (*left_out, *still))


def _of(run: Run, seconds: float, together: str, without: str) -> str:
    """``of 10.1 s of the 14.0 s: without ...``: of how much, wherever that is not the whole as it is printed."""
    if not without:
        return f"of the whole run{together}"
    own, whole = duration(1e6 * seconds), duration(1e6 * sum(one.end - one.begin for one in run.intervals))
    if own == whole:
        return f"of the whole run{together}, without {without}"
    processes = " of its processes" if len(run.parts) > 1 else ""
    return f"of {own} of the {whole}{processes}{together}: without {without}"


def _together(intervals: Sequence[IntervalLine]) -> str:
    """Steps are those of one DataLoader; samples of an evaluation's count as well."""
    loaders = {each.loader for interval in intervals for each in interval.loaders if each.samples}
    return ", all DataLoaders together" if len(loaders) > 1 else ""


def _samples(intervals: Sequence[IntervalLine]) -> int:
    return sum(each.samples for interval in intervals for each in interval.loaders)


def _seconds(intervals: Sequence[IntervalLine]) -> float:
    """Without those for which recording stopped the program."""
    return sum(interval.end - interval.begin - interval.recording_us / 1e6 for interval in intervals)


def rate(intervals: Sequence[IntervalLine]) -> float | None:
    """Of all loaders, without the time for which recording stopped the program; None where there are no samples."""
    samples, seconds = _samples(intervals), _seconds(intervals)
    return samples / seconds if samples and seconds > 0 else None


def without_recorded(intervals: Sequence[IntervalLine], recorded: Sequence[Recorded]) -> list[IntervalLine]:
    """Those that no window lies in. A step counts in the interval of its batch, wherever it began: without the steps of
    a window, what is left of one interval may be the samples of a longer time, or of a shorter one. The rate of timed
    steps is another one, without the time between epochs.
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
