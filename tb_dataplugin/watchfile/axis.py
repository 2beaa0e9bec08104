"""A whole run on one axis: neighbouring intervals as points, and the phases that it had."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypedDict

from tb_dataplugin.watchfile.histogram import percentile, total_times
from tb_dataplugin.watchfile.lines import IntervalLine, LoaderNumbers
from tb_dataplugin.watchfile.loaders import longest_waited, main_loader, main_numbers
from tb_dataplugin.watchfile.rates import Recorded, rate, recorded_in, without_recorded
from tb_dataplugin.watchfile.reading import Part, Run
from tb_dataplugin.watchfile.summary import Happening
from tb_dataplugin.watchfile.takers import Whose, whose_of
from tb_dataplugin.watchfile.workers import busy_of, ready_of

MOST_POINTS: Final = 300
"""More than a screen has room for."""


class _Work(TypedDict):
    ready: float | None
    busy_share: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """Some neighbouring intervals of one process; seconds since the run began, times in microseconds. None: not
    recorded. `machine`: means, by their names in the file.
    """

    from_s: float
    to_s: float
    steps: int
    step_us: float | None
    p95_us: float | None
    wait_share: float | None
    samples_per_s: float | None
    epochs: int
    ready: float | None
    busy_share: float | None
    machine: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Phase:
    """`kind`: process, slow, or recorded."""

    from_s: float
    to_s: float
    kind: str
    text: str
    capture: str = ""
    """The file of what was recorded."""


def points_of(run: Run, most: int = MOST_POINTS) -> list[Point]:
    """In the order of time; each is of one process, and there are not many more than `most`."""
    begin = run.parts[0].head.t
    together = max(1, -(-len(run.intervals) // most))
    found = []
    for part in run.parts:
        loader, recorded = main_loader(part), list(recorded_in(part))
        whose = whose_of(main_numbers(part))
        worked = longest_waited(part)
        for group in _groups(part, together):
            point = _point(group, loader, begin, recorded, whose)
            found.append(point if worked == loader else replace(point, **_work(_numbers(group, worked))))
    return found


def _groups(part: Part, together: int) -> Iterator[Sequence[IntervalLine]]:
    for start in range(0, len(part.intervals), together):
        yield part.intervals[start : start + together]


def _point(
    intervals: Sequence[IntervalLine], loader: int, begin: float, recorded: Sequence[Recorded], whose: Whose
) -> Point:
    numbers = _numbers(intervals, loader)
    steps, time = sum(each.steps for each in numbers), sum(each.step_us for each in numbers)
    times = total_times(each.step_times for each in numbers)
    return Point(
        from_s=max(0.0, intervals[0].begin - begin),
        to_s=max(0.0, intervals[-1].end - begin),
        steps=steps,
        step_us=time / steps if steps else None,
        p95_us=min(percentile(times, 0.95), max(each.longest_step_us for each in numbers)) if times else None,
        wait_share=min(1.0, sum(each.wait_us for each in numbers) / time) if time and whose != "fed" else None,
        samples_per_s=rate(without_recorded(intervals, recorded)),
        epochs=sum(each.epochs for each in numbers),
        machine=_means(intervals),
        **_work(numbers),
    )


def _numbers(intervals: Sequence[IntervalLine], loader: int) -> list[LoaderNumbers]:
    return [each for interval in intervals for each in interval.loaders if each.loader == loader]


def _work(numbers: Sequence[LoaderNumbers]) -> _Work:
    """Of the DataLoader workers."""
    ready, busy = ready_of(numbers), busy_of(numbers)
    return {"ready": ready.mean if ready else None, "busy_share": busy.share if busy else None}


def _means(intervals: Iterable[IntervalLine]) -> dict[str, float]:
    known: dict[str, list[float]] = {}
    for interval in intervals:
        for name, value in interval.machine.items():
            known.setdefault(name, []).append(value)
    return {name: sum(values) / len(values) for name, values in known.items()}


def phases_of(run: Run, happenings: Sequence[Happening]) -> list[Phase]:
    """Processes where there are several, what was recorded, and times in which the loop was slow: with a process such a
    time ends.
    """
    begin = run.parts[0].head.t
    processes = [_process(part, number, begin) for number, part in enumerate(run.parts)]
    found = processes.copy() if len(processes) > 1 else []
    for part in run.parts:
        for line, since in recorded_in(part):
            text = f"recorded: {line.capture}, which slows the loop"
            found.append(Phase(max(0.0, since - begin), max(0.0, line.t - begin), "recorded", text, line.capture))
    for happening in happenings:
        if happening.event.change == "slow":
            ended = next((one.to_s for one in reversed(processes) if one.from_s <= happening.after_s), 0.0)
            until = ended if happening.until is None else happening.until - begin
            found.append(
                Phase(happening.after_s, max(happening.after_s, until), "slow", f"slow {happening.event.what}")
            )
    return sorted(found, key=lambda phase: (phase.from_s, phase.kind))


def _process(part: Part, number: int, begin: float) -> Phase:
    start = max(0.0, part.head.t - begin)
    end = max((interval.end - begin for interval in part.intervals), default=start)
    ending = "" if part.has_ended else ", its end is not recorded"
    return Phase(start, max(start, end), "process", f"process {number + 1} (pid {part.head.pid}){ending}")
