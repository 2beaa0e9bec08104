"""Which DataLoader each wait was for, and which of several is the training loop's.

The training loop's is the one that most steps take batches of, however long their waits are: an evaluation in one step
of 25 may wait for longer than the 25 steps do. One that is gone through inside single steps (an evaluation in each of
them, beside accumulated gradients) is not. Where several are in the steps alike (zipped), it is the one that the loop
waits for longest, which is worth a change: what is predicted and advised is about that one. It may be another one once
that is done; so a capture is known, and its samples are counted, by the one of them that gave most samples. What
``prof.steps`` iterates needs no counting (`driving`).

Which loader a wait was for is recorded of batches that DataLoader workers built. Others show by their samples: of which
dataset, and how many; and loaders that are alike by the passes over them (`loader_passes`). A ``next()`` that built
nothing ended the epoch of the loader whose pass it lies in, or else of the one before it. A DataLoader that is not
annotated has no number, and what is certainly for it (`waits_of_others`) counts as one loader: aside as an evaluation,
or beside the training loop's own, where most steps draw from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.driving import driving_loaders
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_passes import UNKNOWN, are_apart, in_passes, inside_steps
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.waits_of_others import waits_of_others
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals, int64
from tb_dataplugin.model.trace import LoaderInfo, Trace

UNANNOTATED: Final = -2
"""That of all that are certainly not annotated."""


@dataclass(frozen=True, slots=True)
class LoaderUse:
    """`main`: number of the training loop's loader. `in_workers`: of those whose DataLoader workers left batches, the
    same, or the next in line. `of_wait`: per wait of the data wait, the loader's number. `steps`: per loader, the
    places of the steps that take batches of it; of all others of the window where that is not known. `unannotated`: the
    same of those that are not annotated. `certain`: waits that are for them. `drawn`: waits for annotated ones other
    than `in_workers`, of which most steps draw some (zipped loaders); `zipped`: other than `main`. `whole`: the same of
    the whole capture, where this is of some of its steps. `inside`: loaders that are gone through inside single steps
    (`loader_passes`). `made_anew`: those that are like `main`, one after another. `named`: the same were `main` the
    loader that a capture is known by, whatever is waited for; None where it is.
    """

    main: int
    in_workers: int
    of_wait: Int64Array
    steps: tuple[Int64Array, ...]
    whole: LoaderUse | None = None
    unannotated: Int64Array = field(default_factory=lambda: int64([]))
    certain: Intervals = EMPTY
    inside: frozenset[int] = frozenset()
    drawn: Intervals = EMPTY
    zipped: Intervals = EMPTY
    made_anew: frozenset[int] = frozenset()
    named: LoaderUse | None = None

    @property
    def by_name(self) -> LoaderUse:
        """As that loader has it which a capture is known by."""
        return self.named or self

    @property
    def loops(self) -> frozenset[int]:
        """Numbers of the training loop's loader, and of those that it was made anew as."""
        return self.made_anew | {self.main}

    @property
    def beside(self) -> Intervals:
        """Waits of the loop for batches of DataLoaders that are not annotated, of which most steps draw some."""
        return EMPTY if self.is_aside(UNANNOTATED) else self.certain

    @property
    def elsewhere(self) -> Intervals:
        """Waits of the loop in which the DataLoader with workers is not the one that is asked."""
        return Intervals.union_of((self.beside, self.drawn))

    def steps_of(self, number: int) -> Int64Array:
        """Places of the steps that take batches of that loader."""
        return self.unannotated if number == UNANNOTATED else self.steps[number]

    def is_aside(self, number: int) -> bool:
        """Whether it is iterated inside steps of the training loop, as an evaluation is: in few of them, nearly all of
        which take a batch of the loop's own as well; or in any number of them, where it is gone through inside them.
        """
        mine = self.steps_of(number)
        if number == self.main or not len(mine) or not (self.of_wait == number).any():
            return False
        own = self.steps[self.main]
        if self.whole is not None and self.whole.main == self.main:
            return self.whole.is_aside(number)
        if number in self.inside and self.main not in self.inside:
            return True
        return 2 * len(mine) < len(own) and 2 * int(np.isin(mine, own).sum()) >= len(mine)


def first_batches(loader: LoaderWait, use: LoaderUse) -> tuple[int, int] | None:
    """Of the training loop's loader, from ``iter(loader)`` on, as far as that was recorded: how long, and how many."""
    rows = use.of_wait == use.main
    mine = Intervals(loader.waits.start[rows], loader.waits.end[rows])
    first = None if loader.first_batches is None else loader.first_batches.intersect(mine)
    return (first.total_ns + loader.made.intersect(mine).total_ns, len(first)) if first else None


def find_loader_use(
    trace: Trace,
    steps: Steps | None,
    loader: LoaderWait | None,
    batches: BatchTimes | None,
    whole: LoaderUse | None = None,
) -> LoaderUse:
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    waits = loader.waits if loader else Intervals.union_of(())
    samples = _samples_in(trace, waits)
    begun = waits.start if steps is None else steps.start_ns
    made = np.flatnonzero(loader.made.overlap(waits.start, waits.end)[:-1] > 0) if loader else int64([])
    of_wait = _of_waits(loaders, waits, batches, samples, begun, frozenset(made.tolist()))
    of_wait[made] = of_wait[made + 1]  # for the batches that come next
    step = np.searchsorted(begun, waits.start, side="right") - 1
    built = np.isin(np.arange(len(waits)), list(samples))
    certain = waits_of_others(trace, waits, batches, of_wait, built, begun)
    certain[made] = certain[made + 1]
    inside = frozenset() if steps is None else inside_steps(loaders, of_wait, begun)
    of_wait = int64(np.where(certain, UNANNOTATED, of_wait))
    places = _places(loaders, of_wait, step)
    table = None if batches is None else batches.table
    driving = driving_loaders(trace, loaders, steps, table, places)
    seen = _Seen(places, _waited(loaders, of_wait, loader), inside, driving)
    base = LoaderUse(0, 0, of_wait, places, whole, np.unique(step[of_wait == UNANNOTATED]), inside=inside)
    base = replace(base, certain=Intervals(waits.start[certain], waits.end[certain]))
    lines = [_in_line(trace, loaders, seen, by_wait=by_wait) for by_wait in (True, False)]
    by_wait, by_name = (_use(base, loaders, line, waits, batches, by_name=bool(n)) for n, line in enumerate(lines))
    return by_wait if by_wait.main == by_name.main else replace(by_wait, named=by_name)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Per loader the steps that take batches of it, and the data wait for it as the loop goes on; which are gone
    through inside single steps, and which drive the steps.
    """

    fed: tuple[Int64Array, ...]
    waited_ns: tuple[int, ...]
    inside: frozenset[int]
    driving: frozenset[int]


def _places(loaders: Sequence[LoaderInfo], of_wait: Int64Array, step: Int64Array) -> tuple[Int64Array, ...]:
    """Per loader, the places of its steps. `step`: of each wait, the place."""
    places = [np.unique(step[of_wait == number]) for number in range(len(loaders))]
    unknown = np.unique(step[of_wait == UNKNOWN])
    return tuple(mine if len(mine) else unknown for mine in places)


def _waited(loaders: Sequence[LoaderInfo], of_wait: Int64Array, loader: LoaderWait | None) -> tuple[int, ...]:
    """Without starts of epochs, which are no part of the loop as it goes on."""
    if loader is None:
        return (0,) * len(loaders)
    waits, starts = loader.waits, Intervals.union_of((loader.made, loader.first_batches or EMPTY))
    goes_on = starts.overlap(waits.start, waits.end) == 0
    return tuple(int(waits.durations[goes_on & (of_wait == number)].sum()) for number in range(len(loaders)))


def _made_anew(use: LoaderUse, loaders: Sequence[LoaderInfo]) -> Iterator[int]:
    for number, loader in enumerate(loaders):
        if number != use.main and not use.is_aside(number) and _follow_each_other(loaders[use.main], loader):
            yield number


def _drawn(use: LoaderUse, loaders: Sequence[LoaderInfo], own: int) -> Iterator[int]:
    """Numbers of those that most steps draw from beside that one."""
    for number, loader in enumerate(loaders):
        is_own = number == own or _follow_each_other(loaders[own], loader)
        if not is_own and not use.is_aside(number):
            yield number


def _follow_each_other(one: LoaderInfo, other: LoaderInfo) -> bool:
    """Alike, and gone through one after the other: a loader that is made anew, for each epoch, is one of the loop's."""
    kinds = [(each.dataset, each.num_workers, each.batch_size) for each in (one, other)]
    if kinds[0] != kinds[1] or not one.passes_us or not other.passes_us:
        return False
    return are_apart(sorted((*one.passes_us, *other.passes_us), key=lambda each: each[0]))


def _use(
    base: LoaderUse,
    loaders: Sequence[LoaderInfo],
    in_line: list[int],
    waits: Intervals,
    batches: BatchTimes | None,
    *,
    by_name: bool,
) -> LoaderUse:
    """`base` with the first of them as the training loop's."""
    whole = base.whole.by_name if base.whole is not None and by_name else base.whole
    if whole is not None and whole.main in in_line:  # which one trains is a fact of the program, not of some steps
        in_line = [whole.main, *(number for number in in_line if number != whole.main)]
    in_batches = set() if batches is None else set(batches.table.loader.tolist())
    in_workers = next((number for number in in_line if number in in_batches), min(in_batches, default=0))
    use = replace(base, main=next(iter(in_line), 0), in_workers=in_workers, whole=whole)
    drawn, zipped = (np.isin(use.of_wait, list(_drawn(use, loaders, number))) for number in (in_workers, use.main))
    drawn &= batches is not None
    return replace(
        use,
        drawn=Intervals(waits.start[drawn], waits.end[drawn]),
        zipped=Intervals(waits.start[zipped], waits.end[zipped]),
        made_anew=frozenset(_made_anew(use, loaders)),
    )


def _in_line(trace: Trace, loaders: Sequence[LoaderInfo], seen: _Seen, *, by_wait: bool) -> list[int]:
    """Their numbers, the training loop's first; of those that are in its steps alike the one that is waited for
    longest, or gave most samples.
    """
    samples = _given(trace, loaders) if len(loaders) > 1 else [0] * len(loaders)
    most = max(map(len, seen.fed), default=0)
    ranks = [
        (
            number in seen.driving,
            number not in seen.inside,
            2 * len(seen.fed[number]) >= most,
            seen.waited_ns[number] if by_wait else 0,
            samples[number],
            loader.iterated or 0,
        )
        for number, loader in enumerate(loaders)
    ]
    return sorted(range(len(loaders)), key=lambda number: ranks[number], reverse=True)


def _given(trace: Trace, loaders: Sequence[LoaderInfo]) -> list[int]:
    """Per loader, how many samples the training process got of it, as far as that is recorded."""
    table, spans = trace.info.pipeline.batches if trace.info.pipeline else None, trace.stage_spans
    received = table.loader[known(table.consumed_ns)] if table is not None else np.zeros(0, np.int64)
    here = ~np.isin(trace.events.track[spans.row], list(trace.worker_tracks()))
    counts = np.bincount(spans.stage[here], minlength=len(spans.stages))
    samples = {stage.label: int(counts[number]) for number, stage in enumerate(spans.stages) if stage.kind == "sample"}
    return [
        int((received == number).sum()) * (loader.batch_size or 1)
        if loader.num_workers
        else samples.get(loader.dataset, 0)
        for number, loader in enumerate(loaders)
    ]


def _of_waits(
    loaders: Sequence[LoaderInfo],
    waits: Intervals,
    batches: BatchTimes | None,
    samples: dict[int, dict[str, int]],
    steps: Int64Array,
    made: AbstractSet[int],
) -> Int64Array:
    """`steps`: when they began. `made`: waits in ``iter(loader)``."""
    if len(loaders) < 2:
        return np.zeros(len(waits), dtype=np.int64)
    found = np.full(len(waits), UNKNOWN)
    here = [number for number, loader in enumerate(loaders) if not loader.num_workers]
    built = set(samples)
    for wait, by_label in samples.items():
        may_be = _built_here(loaders, here, by_label)
        found[wait] = may_be[0] if len(may_be) == 1 else in_passes(loaders, may_be, float(waits.start[wait]), steps)
    if batches is not None:
        rows = np.flatnonzero(known(batches.wait_start_ns))
        place = np.searchsorted(waits.start, batches.wait_start_ns[rows], side="right") - 1
        least, most = np.full(len(waits), len(loaders)), np.full(len(waits), UNKNOWN)
        np.minimum.at(least, place, batches.table.loader[rows])
        np.maximum.at(most, place, batches.table.loader[rows])
        found = np.where(most == UNKNOWN, found, np.where(least == most, most, UNKNOWN))
        built |= set(place.tolist())
    _find_ends(loaders, waits, steps, found, built, made)
    return int64(found)


def _find_ends(
    loaders: Sequence[LoaderInfo],
    waits: Intervals,
    steps: Int64Array,
    found: Int64Array,
    built: AbstractSet[int],
    made: AbstractSet[int],
) -> None:
    """Fills in `found`, for waits that are none of `built`: an iterator came to its end there, and is not asked again,
    so the next such wait is for another one. Nothing ended in those that are `made`.
    """
    over: dict[int, float] = {}
    for wait, start in enumerate(waits.start.tolist()):
        if wait in built:
            over.pop(int(found[wait]), None)
            continue
        is_end = wait not in made
        number = in_passes(loaders, range(len(loaders)), start, steps, over) if is_end else UNKNOWN
        found[wait] = found[wait - 1] if number == UNKNOWN and wait else number
        if is_end:
            over[int(found[wait])] = start


def _samples_in(trace: Trace, waits: Intervals) -> dict[int, dict[str, int]]:
    """By the wait: how many samples of each dataset the training thread made in it."""
    spans, events = trace.stage_spans, trace.events
    rows = np.flatnonzero(spans.is_kind("sample") & (events.track[spans.row] == trace.training_track))
    start = events.start_ns[spans.row[rows]]
    inside = waits.contains(start)
    found: dict[int, dict[str, int]] = {}
    places = np.searchsorted(waits.start, start[inside], side="right") - 1
    for place, stage in zip(places.tolist(), spans.stage[rows[inside]].tolist(), strict=True):
        by_label = found.setdefault(place, {})
        label = spans.stages[stage].label
        by_label[label] = by_label.get(label, 0) + 1
    return found


def _built_here(loaders: Sequence[LoaderInfo], here: list[int], samples: dict[str, int]) -> list[int]:
    """Which of these loaders have that dataset and batches of so many samples, or the smallest batches that are larger,
    as an epoch's last one is smaller.
    """
    mine = [number for number in here if loaders[number].dataset in samples]
    if len(mine) < 2:
        return mine
    count = samples[loaders[mine[0]].dataset]
    sizes = {number: loaders[number].batch_size or 0 for number in mine}
    fitting = sorted(size for size in sizes.values() if size >= count)
    return [number for number in mine if fitting and sizes[number] == fitting[0]]
