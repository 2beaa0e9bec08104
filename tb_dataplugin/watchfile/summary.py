"""What a whole run comes to: its steps, its stalls with what was recorded of them, and what grows over it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from msgspec import structs

from tb_dataplugin.watchfile.by_loader import LoaderTotal, by_loader
from tb_dataplugin.watchfile.drift import QUARTERS, Drift, find_drift, split
from tb_dataplugin.watchfile.histogram import percentile, total_times
from tb_dataplugin.watchfile.lines import CaptureLine, EventLine, IntervalLine, LoaderNumbers
from tb_dataplugin.watchfile.loaders import (
    longest_waited,
    main_loader,
    main_numbers,
    main_stalls,
    numbers_in_steps,
    numbers_of,
)
from tb_dataplugin.watchfile.outside import Outside, find_outside, recording_us
from tb_dataplugin.watchfile.rates import Rate, rate_of, recorded_in
from tb_dataplugin.watchfile.reading import Part, Run
from tb_dataplugin.watchfile.slow_times import SlowTime, Wait, slow_times, wait_meanwhile
from tb_dataplugin.watchfile.takers import DATA_WAIT, Whose, wait_name, whose_of
from tb_dataplugin.watchfile.trouble import Slow, Trouble, slow_samples, troubles
from tb_dataplugin.watchfile.workers import Busy, Ready, busy_of, ready_of, stages_note

_FEWEST_INTERVALS: Final = 12
_GROWTH_BYTES, _GROWTH_SHARE = 64e6, 0.1
"""Memory that grew by less, from the first quarter of a process to its last, is not named."""
MEMORY: Final = {
    "rss_bytes": "training process",
    "workers_rss_bytes": "DataLoader workers",
    "pss_bytes": "all processes together (PSS)",
    "shm_bytes": "/dev/shm",
}


@dataclass(frozen=True, slots=True)
class Happening:
    """A stall, or a time in which the loop was slow."""

    time: float
    """Seconds since 1970."""
    after_s: float
    """Since the run began."""
    event: EventLine
    until: float | None
    """When a slow time was over; None: it was not, or the event is a single step."""
    capture: CaptureLine | None
    also: tuple[EventLine, ...] = ()
    """Other numbers of the same loader that left their usual range while this one was out of it."""
    by_intervals: bool = False
    """No event: the recorded intervals show it. Which epoch and batch it began with is unknown."""
    wait: Wait | None = None
    """Meanwhile, where no event was about the data wait."""
    known_until: float | None = None
    """The end of its process's last interval."""
    wait_name: str = DATA_WAIT
    """What `wait` is of."""

    @property
    def recorded_s(self) -> float:
        """Of a slow time, how long a window was recorded in it: from the profiler's warm-up, which stops the loop,
        until the file was written. Between both the loop goes on."""
        if self.capture is None or self.capture.begin is None or not self.capture.capture or self.until is None:
            return 0.0
        return max(0.0, min(self.until, self.capture.t) - max(self.time, self.capture.begin))

    @property
    def is_captured_after(self) -> bool:
        """Its window began when it was over: that has the steps after it. A single stall's always does."""
        if self.capture is None or not self.capture.capture:
            return False
        begin, over = self.capture.begin, self.until
        return self.event.change == "stall" or (begin is not None and over is not None and begin >= over)

    @property
    def lasted_s(self) -> float | None:
        """With `recorded_s`."""
        return None if self.until is None or self.event.change != "slow" else self.until - self.time

    @property
    def long_us(self) -> float:
        """A stall as long as it took; a slow time as long as it went on without `recorded_s`, one that was not over as
        far as is known.
        """
        if self.event.change != "slow":
            return self.event.took_us
        if self.lasted_s is not None:
            return 1e6 * max(0.0, self.lasted_s - self.recorded_s)
        return 1e6 * max(0.0, (self.known_until or 0.0) - self.time)


@dataclass(frozen=True, slots=True)
class Window:
    """One that the program recorded, from the profiler's warm-up until its file was written."""

    after_s: float
    """Since the run began."""
    lasted_s: float
    capture: str
    """A file's name."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory that was higher in each quarter of a process's life than in the one before."""

    what: str
    before: float
    after: float
    """Bytes, the medians of the first and the last quarter."""
    epochs: int
    """That began meanwhile."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Of the loader that most steps were made with; times in microseconds."""

    seconds: float
    """From its beginning to its last interval, over all processes."""
    processes: int
    killed: int
    """Processes before the last one that did not come to their end."""
    steps: int
    untimed: int
    """Further steps, which other work lay in: a recorded window, another loader."""
    step_us: float
    p95_us: float
    longest_us: float
    wait_share: float
    """Of the step time: what the thread that takes the batches waited for them."""
    whose: Whose
    """Which one that is."""
    main: int | None
    """Number of that loader; None where processes have different ones."""
    rate: Rate
    recording_us: float
    """Of `seconds`: for which the program stood still so that windows could be recorded; 0: none, or not known."""
    epochs: int
    first_waits: int
    """Epochs whose first batch no window was recorded beside: those that `first_wait_us` is of."""
    first_wait_us: float
    ready: Ready | None
    """As `busy`."""
    busy: Busy | None
    """Of the DataLoader workers; as what follows of stages and samples, of the loader that the steps wait for longest,
    where they take batches from several."""
    stages: tuple[tuple[str, float], ...]
    """Stage and microseconds for each batch, the slowest first."""
    stages_note: str
    """Which batches those are of."""
    happenings: tuple[Happening, ...]
    first_step: EventLine | None
    """The very first of a process, if it took far longer than the others; of several the longest. None of these."""
    windows: tuple[Window, ...]
    """That no event began, in the order of time."""
    growth: tuple[Growth, ...]
    outside: Outside | None
    """Of all loaders; None where it is not known."""
    loaders: tuple[LoaderTotal, ...]
    """Each, the one with most steps first; empty for a single one."""
    drifts: tuple[Drift, ...]
    """Of the processes whose step time rises or falls."""
    raised: int
    """Times that an exception came to the loop in place of a batch."""
    measured_samples: int
    other_samples: int
    """Of batches that were not measured, where DataLoader workers notice failures, but no retries."""
    troubles: tuple[Trouble, ...]
    slow_samples: tuple[Slow, ...]
    """Of all batches of DataLoader workers, else of those that were measured; retries always of these."""
    gil_share: float | None
    """Of the time of the thread that takes the batches: waiting for Python's lock."""
    gc_share: float | None
    """Of the run: in Python's garbage collector."""
    bad_lines: int

    @property
    def data_wait_share(self) -> float | None:
        """None: unknown, as another thread than the one that trains takes the batches."""
        return None if self.whose == "fed" else self.wait_share

    @property
    def first_batch_us(self) -> float | None:
        """Data wait for an epoch's first batch, on average; None without epochs."""
        return self.first_wait_us / self.first_waits if self.first_waits else None


def summary_of(run: Run) -> Summary | None:
    """None: it made no step."""
    numbers = [each for part in run.parts for each in main_numbers(part)]
    worked = [each for part in run.parts for each in numbers_of(part, longest_waited(part))]
    steps, time = sum(each.steps for each in numbers), sum(each.step_us for each in numbers)
    if not steps or not time:
        return None
    begin = run.parts[0].head.t
    drifts = [(part, find_drift(part)) for part in run.parts]
    first = [event for part in run.parts for event in main_stalls(part) if is_first_step(event)]
    return Summary(
        seconds=max((interval.end for interval in run.intervals), default=begin) - begin,
        processes=len(run.parts),
        killed=sum(not part.has_ended for part in run.parts[:-1]),
        steps=steps,
        untimed=sum(each.unused_steps for each in numbers),
        step_us=time / steps,
        p95_us=min(percentile(total_times(each.step_times for each in numbers), 0.95), _longest(numbers)),
        longest_us=_longest(numbers),
        wait_share=min(1.0, sum(each.wait_us for each in numbers) / time),
        whose=whose_of(numbers),
        main=main_loader(run.parts[0]) if len(set(map(main_loader, run.parts))) == 1 else None,
        rate=rate_of(run),
        recording_us=recording_us(run),
        epochs=sum(each.epochs for each in numbers),
        first_waits=sum(each.timed_firsts for each in numbers),
        first_wait_us=sum(each.first_wait_us for each in numbers),
        ready=ready_of(worked),
        busy=busy_of(worked),
        stages=_stages(worked),
        stages_note=stages_note(worked),
        happenings=tuple(happening for part, drift in drifts for happening in _happenings(part, begin, drift)),
        first_step=max(first, key=lambda event: event.took_us, default=None),
        windows=tuple(window for part in run.parts for window in _windows(part, begin)),
        growth=tuple(growth for part in run.parts for growth in growing(part)),
        outside=find_outside(run),
        loaders=by_loader(run),
        drifts=tuple(drift for _, drift in drifts if drift is not None),
        raised=sum(each.raised for part in run.parts for each in numbers_in_steps(part)),
        measured_samples=sum(each.measured_samples for each in worked),
        other_samples=sum(each.other_samples for each in worked),
        troubles=troubles(worked),
        slow_samples=slow_samples(worked),
        gil_share=_mean_of(run, "gil_share"),
        gc_share=_mean_of(run, "gc_share"),
        bad_lines=sum(part.bad_lines for part in run.parts),
    )


def _windows(part: Part, begin: float) -> list[Window]:
    own = ((line, since) for line, since in recorded_in(part) if line.event is None)
    return [Window(max(0.0, since - begin), max(0.0, line.t - since), line.capture) for line, since in own]


def _mean_of(run: Run, name: str) -> float | None:
    """Of the intervals that have it, by their length."""
    known = [one for one in run.intervals if name in one.machine and one.end > one.begin]
    seconds = sum(one.end - one.begin for one in known)
    return sum(one.machine[name] * (one.end - one.begin) for one in known) / seconds if known else None


def _longest(numbers: list[LoaderNumbers]) -> float:
    return max((each.longest_step_us for each in numbers), default=0.0)


def _stages(numbers: list[LoaderNumbers]) -> tuple[tuple[str, float], ...]:
    measured = sum(each.measured for each in numbers)
    total: defaultdict[str, float] = defaultdict(float)
    for each in numbers:
        for name, time in each.stage_us.items():
            total[name] += time
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return tuple((name, time / measured) for name, time in ordered) if measured else ()


def _happenings(part: Part, begin: float, drift: Drift | None) -> list[Happening]:
    """Events, and slow times that were none; where the step time drifts, intervals differ for that."""
    events = [_named(_with_wait(one, part), part) for one in happenings(part, begin)]
    slow = [one for one in events if one.event.change == "slow"]
    found = [each for each in slow_times(part) if drift is None and not any(_meet(each, one) for one in slow)]
    noticed_late = (_named(_unnoticed(each, part, begin), part) for each in found)
    return sorted((*events, *noticed_late), key=lambda one: one.time)


def _named(one: Happening, part: Part) -> Happening:
    """With its waits called by what they are, see `takers`."""
    loader = one.event.loader
    of = (each for interval in part.intervals for each in interval.loaders if each.loader == loader)
    name = wait_name(whose_of(of))
    if name == DATA_WAIT:
        return one
    event, *also = (structs.replace(each, what=each.what.replace(DATA_WAIT, name)) for each in (one.event, *one.also))
    return replace(one, event=event, also=tuple(also), wait_name=name)


def is_first_step(event: EventLine) -> bool:
    """Of its process and loader: many programs compile and allocate in it, so it is no stall."""
    return event.change == "stall" and event.what == "step time" and event.epoch == event.batch == 0


def _with_wait(one: Happening, part: Part) -> Happening:
    """A slow step time whose data wait was no event."""
    events = (one.event, *one.also)
    if one.event.change != "slow" or any(event.what != "step time" for event in events):
        return replace(one, wait=None)
    if one.wait is not None or one.event.loader != main_loader(part):
        return one
    return replace(one, wait=wait_meanwhile(part, one.time, one.until))


def _meet(found: SlowTime, one: Happening) -> bool:
    return found.end > one.time and (one.until is None or found.begin < one.until)


def _unnoticed(found: SlowTime, part: Part, begin: float) -> Happening:
    took, usual = found.step_us, found.usual_step_us
    event = EventLine(
        t=found.begin, number=0, change="slow", what="step time", loader=main_loader(part), took_us=took, usual_us=usual
    )
    after, wait = max(0.0, found.begin - begin), Wait(found.wait_us, found.usual_wait_us, by_intervals=True)
    return Happening(found.begin, after, event, found.end, None, by_intervals=True, wait=wait)


def happenings(part: Part, begin: float) -> list[Happening]:
    """In the order in which they began; what is slow at a time, in step time and in data wait, is one."""
    captures = {line.event: line for line in part.captures if line.event is not None}
    found: list[Happening] = []
    known_until = part.intervals[-1].end if part.intervals else None
    for number, event in enumerate(part.events):
        if event.change == "usual" or is_first_step(event):
            continue
        end = None
        if event.change == "slow":
            end = next((later for later in part.events[number:] if _ends(event, later)), None)
        wait = None
        if end is not None and end.wait_us is not None and end.usual_wait_us is not None:
            wait = Wait(end.wait_us, end.usual_wait_us)
        if end is not None and end.mean_us is not None:
            event = structs.replace(event, took_us=end.mean_us)
        until = None if end is None else end.t
        after_s, capture = max(0.0, event.t - begin), captures.get(event.number)
        one = Happening(event.t, after_s, event, until, capture, wait=wait, known_until=known_until)
        same = next((place for place, earlier in enumerate(found) if _is_of(one, earlier)), None)
        if same is None:
            found.append(one)
        else:
            found[same] = _together(found[same], one)
    return found


def _is_of(later: Happening, earlier: Happening) -> bool:
    """Both are times in which the same loop was slow, and they overlap."""
    pair = (earlier.event, later.event)
    if any(event.change != "slow" for event in pair) or earlier.event.loader != later.event.loader:
        return False
    return earlier.until is None or later.time < earlier.until


def _together(earlier: Happening, later: Happening) -> Happening:
    ends = (earlier.until, later.until)
    until = None if None in ends else max(end for end in ends if end is not None)
    capture = next((one for one in (earlier.capture, later.capture) if one and one.capture), earlier.capture)
    return replace(earlier, until=until, capture=capture, also=(*earlier.also, later.event))


def _ends(event: EventLine, later: EventLine) -> bool:
    return later.change == "usual" and (later.what, later.loader) == (event.what, event.loader)


def growing(part: Part) -> list[Growth]:
    """By the medians of four quarters, so that a worker's short life or one interval decide nothing; as the loop goes
    on: before its first step a program fills its memory, and a capture brings a profiler into it.
    """
    found = []
    for name, what in MEMORY.items():
        known = max(_stretches(part, name), key=len, default=[])
        if len(known) < _FEWEST_INTERVALS:
            continue
        quarters = [median(interval.machine[name] for interval in quarter) for quarter in split(known, QUARTERS)]
        before, after = quarters[0], quarters[-1]
        grows = all(earlier < later for earlier, later in pairwise(quarters))
        if grows and after - before > max(_GROWTH_BYTES, _GROWTH_SHARE * before):
            found.append(Growth(what, before, after, _epochs(known)))
    return found


def _stretches(part: Part, name: str) -> list[list[IntervalLine]]:
    """Intervals with steps and this number, between captures: not those of the program's own, which may be many."""
    ends = sorted(one.t for one in part.captures if one.capture and one.event is not None)
    stretches: list[list[IntervalLine]] = [[] for _ in range(len(ends) + 1)]
    for interval in part.intervals:
        if name in interval.machine and any(each.steps for each in interval.loaders):
            stretches[sum(end <= interval.begin for end in ends)].append(interval)
    return stretches


def _epochs(known: list[IntervalLine]) -> int:
    by_loader: Counter[int] = Counter()
    for interval in known:
        for each in interval.loaders:
            by_loader[each.loader] += each.epochs
    return max(by_loader.values(), default=0)
