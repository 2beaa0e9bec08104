"""The facts about data wait that is told apart from the training loop's: starts of epochs, other DataLoaders, and
pauses for a collection of garbage. Times between two epochs are no data wait, and no part of the loop either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.apart import Apart, OtherLoader, names_of_apart
from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.flow import EpochStart
from tb_dataplugin.analyses.hot_lines import MOST_OF_IT, lines_at
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.line_trees import FOR_OTHERS
from tb_dataplugin.analyses.nested_epochs import begins_inside, has_nested_epochs, steps_before
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.wait_parts import SHUTDOWN, STARTUP
from tb_dataplugin.analyses.worker_inits import inits_waited_for
from tb_dataplugin.findings.first_build import FirstBuild, find_first_build
from tb_dataplugin.findings.line_texts import line_text
from tb_dataplugin.findings.other_building import OtherBuilding, find_other_building
from tb_dataplugin.model.intervals import EMPTY, Intervals, int64
from tb_dataplugin.model.trace import LoaderInfo

WORTH_A_WORD: Final = 0.01
"""Share of the window, below which a part is in no verdict."""


@dataclass(frozen=True, slots=True)
class StartSignals:
    """Starts of epochs. `wait_us`: data wait. Of what `Signals.measured_cost_us` is a time of: `cost_us`; `repeated_us`
    of epochs after the first, `repeated` of them; `built_us` of that while the epoch's first batch was being built, as
    it would be by workers that live on; `startup_us` and `shutdown_us` while workers started and ended,
    `init_us` of `startup_us` in the user's ``worker_init_fn``. `steps`: their
    numbers. `ends`: of epochs, where workers ended for more than next to nothing; all of it where
    `epochs` is 0. `in_steps`: numbers of all steps with some of `wait_us`, also of those that wait for a new worker's
    first batch. `again_us`: of starts and first batches of their workers, what epochs after the first have, without
    ends; `again_by_stage` is what each stage caused of it. `lacks_iter`: the waits begin behind ``iter(loader)``, where
    DataLoader workers are started: how long that takes is not recorded.
    """

    wait_us: float
    cost_us: float
    epochs: int
    repeated_us: float
    repeated: int
    built_us: float
    startup_us: float
    shutdown_us: float
    steps: tuple[int, ...]
    first_build: FirstBuild | None
    ends: int = 0
    in_steps: tuple[int, ...] = ()
    lacks_iter: bool = False
    needed_us: float = 0.0
    """What its DataLoader workers, each at work all of the time, need to build the batches taken in the window."""
    again_us: float = 0.0
    again_by_stage: Mapping[str, float] = field(default_factory=dict)
    short: int = 0
    """Starts of the loop's epochs in the window that are no part of it, as they take little more than their batches."""
    init_us: float = 0.0
    build_us: float = 0.0
    """What the batches of its loader that were taken in the window take to build, by those that no start is for."""
    steps_before: float | None = None
    """How many steps the epoch had that the last of these starts followed, by its batches; None: not recorded. Of those
    that are `inside` none counts."""
    inside: tuple[int, ...] = ()
    """Numbers of the steps with a loop inside that began an epoch of the same DataLoader (`inside_epochs`)."""
    outside: tuple[int, ...] = ()
    """Numbers of those in which another one began, where some begin `inside`."""

    @property
    def names(self) -> str:
        return names_of_apart(self.epochs, self.ends)

    @property
    def end_us(self) -> float:
        """What one epoch's end took: a window may have one more than starts, or one less."""
        return self.shutdown_us / (self.ends or self.repeated or 1)

    @property
    def again_each_us(self) -> float:
        """What an epoch after the first has of it, with the end of the one before."""
        return self.again_us / (self.repeated or 1) + self.end_us


@dataclass(frozen=True, slots=True)
class LoaderStarts:
    """Those of one DataLoader. `is_main`: the training loop's own, not one that it takes batches of as well.
    `is_nested`: one began while the loop still took batches of an earlier one.
    """

    loader: LoaderInfo
    is_main: bool
    starts: StartSignals
    is_nested: bool


@dataclass(frozen=True, slots=True)
class OtherLoaderSignals:
    """Waits for another loader's batches. `loader`: None of what is not annotated. `is_look`: of iterators that are
    dropped after a few. `between_us`: the training thread's work between these waits. Of `wait_us`, `starting_us` is
    for its DataLoader workers to start and to end; `building`: what these do in the rest.
    """

    loader: LoaderInfo | None
    wait_us: float
    steps: tuple[int, ...]
    is_look: bool = False
    between_us: float = 0.0
    starting_us: float = 0.0
    building: OtherBuilding = field(default_factory=OtherBuilding)

    @property
    def time_us(self) -> float:
        return self.wait_us + self.between_us


@dataclass(frozen=True, slots=True)
class PauseSignals:
    """Full collections of garbage in the data wait, where these are few. `steps`: numbers of those that have them."""

    wait_us: float
    count: int
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BetweenSignals:
    """Times between two epochs: no data wait. `steps`: numbers of those that have them. `line`: of the training thread,
    with most of it; "" where stacks do not show one.
    """

    time_us: float
    steps: tuple[int, ...]
    line: str = ""


@dataclass(frozen=True, slots=True)
class ApartSignals:
    """`whole_us`: all of the window's data wait. `starts_of`: of each DataLoader whose epochs start. `ahead_us`: waits
    for others, and work between these, in which the loop's own DataLoader workers build ahead. `recurring_us`: all
    that comes again every so many steps (`Apart.recurring`). `in_flames`: the flame graph of all stages has what was
    built for others apart. `for_others_us`: what each stage, by its name, caused of the waits for others.
    """

    whole_us: float
    starts: StartSignals | None
    others: tuple[OtherLoaderSignals, ...]
    window_us: float
    pauses: PauseSignals | None = None
    starts_of: tuple[LoaderStarts, ...] = ()
    ahead_us: float = 0.0
    recurring_us: float = 0.0
    in_flames: bool = False
    for_others_us: Mapping[str, float] = field(default_factory=dict)
    between: BetweenSignals | None = None

    @property
    def time_us(self) -> float:
        """Of the window, that is no part of the loop."""
        between_us = self.between.time_us if self.between else 0.0
        return self.wait_us + between_us + sum(other.between_us for other in self.others)

    @property
    def wait_us(self) -> float:
        own = (part.wait_us for part in (self.starts, self.pauses) if part)
        return sum(own) + sum(other.wait_us for other in self.others)

    @property
    def unannotated(self) -> OtherLoaderSignals | None:
        """Of these others, what is not annotated."""
        return next((other for other in self.others if other.loader is None), None)

    @property
    def leads(self) -> bool:
        """It has more of the data wait, or of the window, than the training loop as it goes on."""
        return 2 * self.wait_us > self.whole_us or 2 * self.time_us > self.window_us

    @property
    def has_repeated_starts(self) -> bool:
        """Of epochs after the first, which are a part of each step in the long run."""
        return self.starts is not None and self.starts.repeated > 0

    @property
    def repeated_names(self) -> str:
        """Of these; "" without any."""
        return self.starts.names if self.starts is not None and self.starts.repeated > 0 else ""

    @property
    def worth_a_word(self) -> ApartSignals:
        """Without those parts that have next to nothing of the window."""
        least = WORTH_A_WORD * self.window_us
        starts = self.starts if self.starts is not None and self.starts.wait_us >= least else None
        pauses = self.pauses if self.pauses is not None and self.pauses.wait_us >= least else None
        others = tuple(other for other in self.others if other.time_us >= least)
        between = self.between if self.between is not None and self.between.time_us >= least else None
        return replace(self, starts=starts, others=others, pauses=pauses, between=between)

    @property
    def names(self) -> str:
        """What it is, in a few words: "the epoch's start and the other DataLoader"."""
        starts, ends = (self.starts.epochs, self.starts.ends) if self.starts else (0, 0)
        pauses = self.pauses.count if self.pauses else 0
        return names_of_apart(starts, ends, len(self.others), pauses, between=self.between is not None)


def built_ahead_us(apart: ApartSignals | None) -> float:
    """Time of the window that is no part of the loop, in which its own DataLoader workers build batches ahead."""
    return apart.ahead_us if apart else 0.0


def left_out(apart: ApartSignals | None) -> str:
    """Names what is apart and worth a word; "" without any."""
    return apart.worth_a_word.names if apart else ""


def read_apart(results: Results) -> ApartSignals | None:
    apart, pipeline = results.loop.apart, results.trace.info.pipeline
    if not apart or results.loader is None or pipeline is None:
        return None
    looks = {each.number for each in results.looks.loaders} if results.looks else set()
    starting = Intervals.union_of(results.attribution.by_stage.get(name, EMPTY) for name in (STARTUP, SHUTDOWN))
    others = (
        OtherLoaderSignals(
            None if other.number is None else pipeline.loaders[other.number],
            other.waits.total_ns / 1e3,
            other.steps,
            other.number in looks,
            other.between.total_ns / 1e3,
            starting.intersect(other.waits).total_ns / 1e3,
            _building(results, other, starting),
        )
        for other in apart.others
    )
    whole_us, window_us = results.loader.waits.total_ns / 1e3, results.window.duration_ns / 1e3
    ahead_us = apart.ahead.minus(results.use.beside).total_ns / 1e3
    starts, pauses = _starts(results, apart), _pauses(results, apart.pauses)
    of_each = tuple(_of_each(results, apart, pipeline.loaders, starts)) if starts and pipeline.loaders else ()
    recurring_us = apart.recurring.minus(results.use.beside).total_ns / 1e3
    stages = results.lines.pipeline if results.lines else None
    in_flames = stages is not None and stages.tree is not None and FOR_OTHERS in stages.tree.frame
    theirs, by_stage = Intervals.union_of(other.waits for other in apart.others), results.attribution.by_stage
    by_name = {name: waits.intersect(theirs).total_ns / 1e3 for name, waits in by_stage.items()}
    between = _between(results, apart.between_epochs) if len(apart.between_epochs) else None
    return ApartSignals(
        whole_us, starts, tuple(others), window_us, pauses, of_each, ahead_us, recurring_us, in_flames, by_name, between
    )


def _between(results: Results, times: Intervals) -> BetweenSignals:
    find = lines_at(results.trace, results.tree, results.attribution, results.window)
    most = next(iter(find(times).rows), None) if find else None
    line = line_text(most) if most is not None and most.share >= MOST_OF_IT else ""
    return BetweenSignals(times.total_ns / 1e3, tuple(_steps(results, times)), line)


def _building(results: Results, other: OtherLoader, starting: Intervals) -> OtherBuilding:
    loaders = results.trace.info.pipeline.loaders if results.trace.info.pipeline else ()
    loader = None if other.number is None else loaders[other.number]
    return find_other_building(results, other.number, loader, other.waits.minus(starting))


def _pauses(results: Results, pauses: Intervals) -> PauseSignals | None:
    return PauseSignals(pauses.total_ns / 1e3, len(pauses), tuple(_steps(results, pauses))) if len(pauses) else None


def _of_each(
    results: Results, apart: Apart, loaders: Sequence[LoaderInfo], starts: StartSignals
) -> Iterator[LoaderStarts]:
    """`starts`: of all of them. A wait for DataLoader workers that end goes with the start that is nearest."""
    main = results.use.main
    whose = [main if start.loader is None else start.loader for start in apart.epochs]
    numbers = sorted(set(whose)) or [main]
    if len(numbers) == 1:
        yield LoaderStarts(loaders[numbers[0]], numbers[0] == main, starts, _is_nested(results, numbers[0]))
        return
    begun, ended = (int64([edge(start.wait) for start in apart.epochs]) for edge in (_first_ns, _last_ns))
    waits = apart.starts
    far = np.maximum(begun[None, :] - waits.end[:, None], waits.start[:, None] - ended[None, :])
    of_wait = np.array(whose)[far.argmin(axis=1)]
    for number in numbers:
        rows = of_wait == number
        mine = Intervals(waits.start[rows], waits.end[rows])
        epochs = tuple(start for start, one in zip(apart.epochs, whose, strict=True) if one == number)
        found = _starts(results, replace(apart, starts=mine, epochs=epochs, ends=apart.ends.intersect(mine)))
        if found is not None:
            yield LoaderStarts(loaders[number], number == main, found, _is_nested(results, number))


def _is_nested(results: Results, loader: int) -> bool:
    return results.workers is not None and has_nested_epochs(results.workers.batches, loader)


def _first_ns(waits: Intervals) -> int:
    return int(waits.start[0])


def _last_ns(waits: Intervals) -> int:
    return int(waits.end[-1])


def _starts(results: Results, apart: Apart) -> StartSignals | None:
    if not len(apart.starts):
        return None
    devices, by_stage = results.attribution.devices, results.attribution.by_stage
    device = devices[0] if devices else None
    repeated, built = [start for start in apart.epochs if start.repeated], _built(results, apart)
    loaders = results.trace.info.pipeline.loaders if results.trace.info.pipeline else ()
    ended = by_stage.get(SHUTDOWN, EMPTY)
    inside = [start for start in repeated if _is_inside(results, start)]
    own = [start for start in repeated if not _is_inside(results, start)]
    once = Intervals.union_of((ended, *(start.wait for start in apart.epochs if not start.repeated)))
    again, startup = apart.starts.minus(once), by_stage.get(STARTUP, EMPTY).intersect(apart.starts)
    return StartSignals(
        wait_us=apart.starts.total_ns / 1e3,
        cost_us=cost_us(device, (apart.starts,)),
        epochs=len(apart.epochs),
        repeated_us=cost_us(device, (start.wait for start in repeated)),
        repeated=len(repeated),
        built_us=cost_us(device, (start.building for start in repeated)),
        startup_us=cost_us(device, (startup,)),
        init_us=cost_us(device, (startup.intersect(inits_waited_for(results.workers)),)),
        shutdown_us=cost_us(device, (ended.intersect(apart.starts),)),
        steps=_steps_of(results, apart.epochs),
        first_build=find_first_build(results, apart),
        ends=len(apart.ends),
        in_steps=tuple(_steps(results, apart.starts)),
        lacks_iter=results.loader is not None and not results.loader.has_iter,
        needed_us=max((us / (loaders[number].num_workers or 1) for number, us in built.items()), default=0.0),
        build_us=built.get(_number(results, apart.epochs[0]) if apart.epochs else results.use.main, 0.0),
        again_us=cost_us(device, (again,)),
        again_by_stage={name: cost_us(device, (waits.intersect(again),)) for name, waits in by_stage.items()},
        short=max(0, apart.begun - len(apart.epochs)) if _are_mains(results, apart) else 0,
        steps_before=steps_before(results, _number(results, own[-1]), _first_ns(own[-1].wait)) if own else None,
        inside=_steps_of(results, inside),
        outside=_steps_of(results, own) if inside else (),
    )


def _is_inside(results: Results, start: EpochStart) -> bool:
    return begins_inside(results, _number(results, start), _first_ns(start.wait))


def _steps_of(results: Results, starts: Iterable[EpochStart]) -> tuple[int, ...]:
    return tuple(_steps(results, Intervals.union_of(start.wait for start in starts)))


def _are_mains(results: Results, apart: Apart) -> bool:
    return all(start.loader in (None, results.use.main) for start in apart.epochs)


def _number(results: Results, start: EpochStart) -> int:
    return results.use.main if start.loader is None else start.loader


def _built(results: Results, apart: Apart) -> dict[int, float]:
    """By DataLoader with workers, how long the batches that were taken in the window take to build, one after the
    other, each as those that no start is for: new workers do more.
    """
    workers, pipeline = results.workers, results.trace.info.pipeline
    if workers is None or pipeline is None:
        return {}
    table, build, window = workers.batches.table, workers.batches.build_ns, results.window
    taken = (table.consumed_ns >= window.start_ns) & (table.consumed_ns < window.end_ns)
    first = apart.batches if len(apart.batches) else np.zeros(len(table), dtype=np.bool_)
    found = {}
    for number, loader in enumerate(pipeline.loaders):
        mine = table.loader == number
        built = build[mine & known(build) & ~first]
        if loader.num_workers and len(built):
            found[number] = float(built.mean()) * int((mine & taken).sum()) / 1e3
    return found


def cost_us(device: DeviceAttribution | None, waits: Iterable[Intervals]) -> float:
    """How much of these waits `Signals.measured_cost_us` would hold."""
    waited = Intervals.union_of(waits)
    return (waited if device is None else waited.intersect(device.causes.get("data_wait", EMPTY))).total_ns / 1e3


def _steps(results: Results, waits: Intervals) -> Iterator[int]:
    """Numbers of the steps that have these."""
    rows = results.steps.rows if results.steps else ()
    begin = int64([row.start_ns for row in rows])
    waited = waits.overlap(begin, begin + int64([row.duration_ns for row in rows]))
    yield from (row.number for row, time in zip(rows, waited.tolist(), strict=True) if time)
