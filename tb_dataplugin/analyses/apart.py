"""Data wait that the steps of the training loop do not have again and again, and that is told apart for that.

An *epoch's start* is the wait for its first batch (where `prof.steps` takes it, from ``iter(loader)`` on; else that is
over by then), and for the first batch of each new DataLoader worker that imports modules or opens files for it, or that
was still starting when this was asked for; the end of the old workers belongs to it. Another DataLoader that is
iterated inside some of the steps, as an evaluation does, has waits of its own. And the training process pauses now and
then to collect all its garbage. None of that says anything of the other steps, and a window of some steps has many
times as much of it as the run, or nothing. Starts that most steps have (`restarts`) are none of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.between_epochs import find_between_epochs
from tb_dataplugin.analyses.building_ahead import waits_in_epochs
from tb_dataplugin.analyses.flow import EpochStart
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_use import UNANNOTATED, LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.remade import find_remade, with_remade
from tb_dataplugin.analyses.restarts import Restarts
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.whole_capture import WholeCapture
from tb_dataplugin.analyses.workers import BatchTimes, Workers
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, Window, int64
from tb_dataplugin.model.trace import UNKNOWN_NS, Trace
from tb_dataplugin.units import listed

BoolArray = npt.NDArray[np.bool_]

LONGER: Final = 2.0
"""An epoch's start that takes less than so many times what its batches would take otherwise is a wait as any other: all
DataLoader workers build a batch in it, so that is their number times the mean wait.
"""

WORTH_A_WORD: Final = 0.01
"""Share of the window, below which starts and pauses are each left among the other waits, and other loaders unnamed:
sentences name what numbers are without.
"""


@dataclass(frozen=True, slots=True)
class OtherLoader:
    """Waits for another loader's batches. `steps`: numbers of the steps that have them, `step_waits_ns`: how long in
    each. `number`: None of what is not annotated. `between`: what the training thread does between two of these waits
    inside a step, as an evaluation's own work: no wait, and no part of the loop.
    """

    number: int | None
    waits: Intervals
    steps: tuple[int, ...]
    step_waits_ns: tuple[int, ...] = ()
    between: Intervals = EMPTY

    @property
    def time_ns(self) -> int:
        return self.waits.total_ns + self.between.total_ns


@dataclass(frozen=True, slots=True)
class Apart:
    """`starts`: waits of the training loop's loader at the starts of `epochs`, and in `ends` while DataLoader workers
    ended: an epoch may end in the window without that the next one's start is told apart. `ends` is empty where it is
    next to nothing. `pauses`: for full collections of garbage, where these are few. Part of building what was waited
    for in all that: `spans` of the stage tree, `batches` of the table. `begun`: epochs of that loader, these or not.
    `ahead`: the part of `not_mine` in which its DataLoader workers build on, since its epoch goes on. `for_others`:
    those of `spans` that are for `others`; empty: none. `between_epochs`: no wait.
    """

    starts: Intervals = EMPTY
    epochs: tuple[EpochStart, ...] = ()
    ends: Intervals = EMPTY
    others: tuple[OtherLoader, ...] = ()
    pauses: Intervals = EMPTY
    spans: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    batches: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    begun: int = 0
    ahead: Intervals = EMPTY
    for_others: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    between_epochs: Intervals = EMPTY

    @property
    def waits(self) -> Intervals:
        return Intervals.union_of((self.starts, self.not_mine))

    @property
    def between(self) -> Intervals:
        """No wait: work between those for `others`, and what is between epochs."""
        return Intervals.union_of((self.between_epochs, *(other.between for other in self.others)))

    @property
    def recurring(self) -> Intervals:
        """What other loaders have that some steps iterate inside an epoch: that comes again every so many steps, though
        now and then between two epochs. Others, once an epoch, are in a window by chance.
        """
        each = (Intervals.union_of((other.waits, other.between)) for other in self.others)
        return Intervals.union_of(time for time in each if self.ahead.intersect(time).total_ns)

    @property
    def time(self) -> Intervals:
        """All that is no part of the loop."""
        return Intervals.union_of((self.waits, self.between))

    @property
    def own(self) -> Intervals:
        """Of these, those of the loop's own DataLoader."""
        return Intervals.union_of((self.starts, self.pauses))

    @property
    def idle(self) -> Intervals:
        """In which its DataLoader workers have other things to do than the loop's batches, or nothing."""
        return Intervals.union_of((self.own, Intervals.union_of((self.not_mine, self.between)).minus(self.ahead)))

    @property
    def not_mine(self) -> Intervals:
        """Of these, those in which the loop's own DataLoader is not asked for anything."""
        return Intervals.union_of((self.pauses, *(other.waits for other in self.others)))

    def names(self, window: Window) -> str:
        """As `names_of_apart`, of what has more than next to nothing of the window."""
        least = WORTH_A_WORD * window.duration_ns
        others = sum(other.time_ns >= least for other in self.others)
        starts = self.starts.total_ns >= least
        pauses = len(self.pauses) if self.pauses.total_ns >= least else 0
        between = self.between_epochs.total_ns >= least
        return names_of_apart(len(self.epochs) * starts, len(self.ends) * starts, others, pauses, between=between)

    def left(self, spans: BoolArray) -> BoolArray:
        """Those of these spans of the stage tree that are not part of it."""
        return spans & ~self.spans if self else spans

    def __bool__(self) -> bool:
        return bool(len(self.starts) or self.others or len(self.pauses) or len(self.between_epochs))


NOTHING: Final = Apart()


def names_of_apart(starts: int, ends: int, others: int = 0, pauses: int = 0, *, between: bool = False) -> str:
    """What it is, in a few words: "the epoch's start and the other DataLoader"; `starts`, `ends`: of epochs, `between`:
    the time between them.
    """
    epochs = {
        (False, False): (),
        (True, False): ("the epoch's start" if starts == 1 else "the starts of epochs",),
        (False, True): ("the epoch's end" if ends == 1 else "the ends of epochs",),
        (True, True): ("the starts and ends of epochs",),
    }[(starts > 0, ends > 0)]
    loaders = {0: (), 1: ("the other DataLoader",)}.get(others, ("other DataLoaders",))
    collector = (f"the garbage collector's pause{'s' if pauses > 1 else ''}",) if pauses else ()
    apart = ("the time between epochs",) if between else ()
    named = (*epochs, *apart, *loaders, *collector)
    return listed(named) if named else ""


def find_apart(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    use: LoaderUse,
    whole: WholeCapture,
    shutdown: Intervals,
    pauses: Intervals,
    workers: Workers | None,
    steps: Steps | None,
    restarts: Sequence[Restarts],
) -> Apart:
    """`whole`: knows the starts of epochs. `shutdown`: of all loaders, waits for workers to end. `pauses`: for few full
    collections of garbage.
    """
    if loader is None or trace.info.mode == "replay":
        return NOTHING
    batches, ended = (workers.batches if workers else None), _ended_in(window, workers)
    others = tuple(_others(loader.waits, use, steps, ended))
    theirs = Intervals.union_of(other.waits for other in others)
    between = Intervals.union_of(other.between for other in others)
    none_of_these = Intervals.union_of((theirs, *(each.waits for each in restarts)))
    starts = with_remade(whole.starts_in(window), find_remade(trace, use), use.main)
    mine = [start for start in starts if not none_of_these.intersect(start.wait).total_ns]
    begun = max(len(mine), _iterated(trace, use.main) if window == whole.window else 0)
    own = _longer(trace, mine, whole, use, pauses)
    first = _first_batches(trace, batches, use, own)
    received = EMPTY if batches is None else _received(batches, first)
    waits = Intervals.union_of((*(start.wait for start in own), received.clip(window), shutdown)).minus(none_of_these)
    pauses = pauses.minus(Intervals.union_of((waits, theirs)))
    away = find_between_epochs(trace, loader, use, batches, steps, restarts).minus(between)
    least = WORTH_A_WORD * window.duration_ns
    if waits.total_ns < least:
        waits, own, first = EMPTY, (), np.zeros_like(first)
    if pauses.total_ns < least:
        pauses = EMPTY
    if away.total_ns < least:
        away = EMPTY
    if sum(part.total_ns for part in (waits, theirs, between, pauses, away)) < least:
        return Apart(begun=begun)
    of_others = _batches_of(others, batches)
    for_others = _spans(trace, tree, theirs, batches, of_others) if others else np.zeros(0, dtype=np.bool_)
    first |= of_others
    spans = _spans(trace, tree, Intervals.union_of((waits, theirs)), batches, first)
    ahead = Intervals.union_of((pauses, waits_in_epochs(Intervals.union_of((theirs, between)), trace, use, batches)))
    ends = _ends(loader, shutdown, waits, window)
    return Apart(waits, own, ends, others, pauses, spans, first, begun, ahead, for_others, away)


def _batches_of(others: Sequence[OtherLoader], batches: BatchTimes | None) -> BoolArray:
    if batches is None:
        return np.zeros(0, dtype=np.bool_)
    return np.isin(batches.table.loader, [other.number for other in others if other.number is not None])


def _ends(loader: LoaderWait, shutdown: Intervals, apart: Intervals, window: Window) -> Intervals:
    """The waits in which DataLoader workers ended, that far; none where that is next to nothing beside starts."""
    ended = shutdown.intersect(apart)
    if ended.total_ns < WORTH_A_WORD * window.duration_ns and ended.total_ns < apart.total_ns:
        return EMPTY
    waits = loader.waits
    return (
        Intervals(waits.start[rows], waits.end[rows])
        if (rows := ended.overlap(waits.start, waits.end) > 0).any()
        else EMPTY
    )


def _others(
    waits: Intervals, use: LoaderUse, steps: Steps | None, ended: Mapping[int, Int64Array]
) -> Iterator[OtherLoader]:
    """`ended`: by loader, when processes of its workers did."""
    for number in (*range(len(use.steps)), UNANNOTATED):
        if use.is_aside(number) and steps is not None:
            rows, places = use.of_wait == number, use.steps_of(number)
            places = places[places >= 0]
            mine = Intervals(waits.start[rows], waits.end[rows])
            lasted = mine.overlap(steps.start_ns[places], steps.end_ns[places]).tolist()
            known_as = None if number == UNANNOTATED else number
            gone = _until_gone(waits, use.of_wait, number, steps, ended.get(number, int64([])))
            between = Intervals.union_of((_between(waits, use.of_wait, number, steps), gone))
            yield OtherLoader(known_as, mine, tuple(steps.number[places].tolist()), tuple(lasted), between)


def _between(waits: Intervals, whose: Int64Array, number: int, steps: Steps) -> Intervals:
    """From the end of a wait for this loader to the next wait of all, where that is for it as well and no step begins
    meanwhile.
    """
    step = np.searchsorted(steps.start_ns, waits.start, side="right")
    rows = (whose[:-1] == number) & (whose[1:] == number) & (step[:-1] == step[1:])
    return Intervals.union(waits.end[:-1][rows], waits.start[1:][rows])


def _until_gone(waits: Intervals, whose: Int64Array, number: int, steps: Steps, ended: Int64Array) -> Intervals:
    """From the end of a pass's last wait until its workers have `ended`, in the same step and before any other wait: an
    iterator that is dropped before its end waits for them.
    """
    last = np.searchsorted(waits.start, ended, side="right") - 1
    ended, last = ended[last >= 0], last[last >= 0]
    here = np.searchsorted(steps.start_ns, ended, side="right")
    same = np.searchsorted(steps.start_ns, waits.start[last], side="right") == here
    rows = same & (whose[last] == number) & (waits.end[last] < ended)
    return Intervals.union(waits.end[last][rows], ended[rows])


def _ended_in(window: Window, workers: Workers | None) -> dict[int, Int64Array]:
    """By loader, when processes of its DataLoader workers ended; without those that outlive the window."""
    ends: dict[int, list[int]] = {}
    for row in workers.rows if workers else ():
        for process in row.processes:
            if len(process.alive) and process.alive.end[-1] < window.end_ns:
                ends.setdefault(row.loader, []).append(int(process.alive.end[-1]))
    return {loader: int64(times) for loader, times in ends.items()}


def _num_workers(trace: Trace, number: int) -> int:
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    return max(1, loaders[number].num_workers or 0) if loaders else 1


def _iterated(trace: Trace, main: int) -> int:
    """How often in all of the window: without DataLoader workers nothing else shows that epochs start. With them, an
    iterator that was made just before the window counts as well.
    """
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    return 0 if main >= len(loaders) or loaders[main].num_workers else loaders[main].iterated_in_window or 0


def _longer(
    trace: Trace, starts: Sequence[EpochStart], whole: WholeCapture, use: LoaderUse, pauses: Intervals
) -> tuple[EpochStart, ...]:
    """Those that are longer than what their batches would take otherwise, without pauses: those of the loader whose
    epoch it is.
    """
    whose = [use.main if start.loader is None or start.loader in use.loops else start.loader for start in starts]
    first, usual = Intervals.union_of(start.wait for start in whole.starts), dict[int, float]()
    for number in set(whose):
        waits = whole.waits_of(number)
        lasted = waits.durations - pauses.overlap(waits.start, waits.end)
        goes_on = first.overlap(waits.start, waits.end) == 0
        usual[number] = _num_workers(trace, number) * float(lasted[goes_on].mean()) if goes_on.any() else 0.0
    return tuple(
        start for start, number in zip(starts, whose, strict=True) if start.wait.total_ns > LONGER * usual[number]
    )


def _first_batches(trace: Trace, batches: BatchTimes | None, use: LoaderUse, starts: Sequence[EpochStart]) -> BoolArray:
    """Which batches are the first of an epoch that starts, or of a DataLoader worker that it started and that builds
    this one for longer than others, or was not there yet when the loop asked for it.
    """
    if batches is None:
        return np.zeros(0, dtype=np.bool_)
    table = batches.table
    mine = (table.loader == use.in_workers) & known(table.started_ns)
    order = np.lexsort((table.started_ns, table.pid, ~mine))
    pid = table.pid[order]
    first = np.zeros(len(table), dtype=np.bool_)
    first[order] = np.concatenate(([True], pid[1:] != pid[:-1])) if len(pid) else []
    begun = Intervals.union_of(start.wait for start in starts)
    received = known(batches.wait_start_ns)
    opening = received.copy()
    opening[received] = begun.overlap(batches.wait_start_ns[received], batches.wait_end_ns[received]) > 0
    epochs = np.unique(table.epoch[opening & mine])
    late = _slow(batches, mine) | _not_there_yet(trace, batches)
    chosen: BoolArray = mine & (opening | (first & np.isin(table.epoch, epochs) & late))
    return chosen


def _not_there_yet(trace: Trace, batches: BatchTimes) -> BoolArray:
    """Batches whose indices were drawn before their DataLoader worker was ready, and that it began to build when the
    loop waited for them already.
    """
    table, ready = batches.table, np.full(len(batches.table), UNKNOWN_NS)
    for process in trace.info.pipeline.workers if trace.info.pipeline else ():
        ready[(table.pid == process.pid) & (table.loader == process.loader)] = process.started_ns
    waited = known(batches.wait_start_ns) & (table.started_ns > batches.wait_start_ns)
    late: BoolArray = waited & known(ready) & known(table.drawn_ns) & (table.drawn_ns <= ready)
    return late


def _slow(batches: BatchTimes, mine: BoolArray) -> BoolArray:
    """Batches that took longer to build than others do; those that the window's end cut off may have."""
    build = batches.build_ns
    whole = known(build)
    usual = float(np.median(build[mine & whole])) if (mine & whole).any() else 0.0
    return ~whole | (build > LONGER * usual)


def _received(batches: BatchTimes, rows: BoolArray) -> Intervals:
    rows = rows & known(batches.wait_start_ns)
    return Intervals.union(batches.wait_start_ns[rows], batches.wait_end_ns[rows])


def _spans(trace: Trace, tree: StageTree, waits: Intervals, batches: BatchTimes | None, rows: BoolArray) -> BoolArray:
    """Spans of the training thread in these waits, and of DataLoader workers in these batches."""
    apart: BoolArray = (tree.track == trace.training_track) & waits.contains(tree.start_ns)
    if batches is None:
        return apart
    table = batches.table
    for track, process in trace.worker_tracks().items():
        mine = rows & (table.pid == process.pid) & (table.loader == process.loader) & known(table.started_ns)
        building = Intervals.union(table.started_ns[mine], _ended(batches, mine))
        apart |= (tree.track == track) & building.contains(tree.start_ns)
    return apart


def _ended(batches: BatchTimes, rows: BoolArray) -> Int64Array:
    """When each was sent, as far as that is known; of one that the window's end cut off all that follows."""
    table = batches.table
    sent = np.maximum(table.finished_ns[rows], table.serialised_ns[rows])
    ends: Int64Array = np.where(known(sent), sent, np.iinfo(np.int64).max)
    return ends
