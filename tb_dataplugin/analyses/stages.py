"""Stages as a tree: how often, how long, how long without their children; and which stage a thread was in, when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH, Stage
from tb_dataplugin.analyses.cpu_readings import reading_ns
from tb_dataplugin.analyses.inner_waits import without_inner_waits
from tb_dataplugin.analyses.items import datasets_of_batches
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.limits import MOST_STAGES
from tb_dataplugin.model.beside_events import SpanFacts
from tb_dataplugin.model.intervals import Int64Array, Window, int64
from tb_dataplugin.model.nesting import Nesting, nest_by_track
from tb_dataplugin.model.trace import Trace

Path = tuple[Stage, ...]

OF_VALUE: Final = frozenset(("read", "decode", "transform"))
"""Kinds of stages that turn one value into the next."""

FURTHER = Stage("user", "(further stages)")
"""Replaces all stages beyond the limit, within each stage."""


@dataclass(frozen=True, slots=True)
class StageTree:
    """Every stage span of every thread, placed in the tree.

    Per span: times, `node` (index into `paths`, the chain of stages from the outermost to its own), `parent` (the
    enclosing span, -1 at the top), self time, depth.
    Per piece of time: `piece_span`, the deepest span that thread was in. Pieces stand by thread, then by time; those
    of one thread are disjoint. In a wait inside a stage the training thread is in no stage. `merged` counts spans
    whose own stage is one too many: `FURTHER` stands for it. `reading_ns`: of the span, in readings of CPU time that
    waited for a CPU, 0 of a wait; `own_reading_ns`: of its self time (`cpu_readings`).
    """

    paths: tuple[Path, ...]
    start_ns: Int64Array
    end_ns: Int64Array
    track: npt.NDArray[np.int32]
    node: Int64Array
    parent: Int64Array
    depth: Int64Array
    self_ns: Int64Array
    reading_ns: Int64Array
    own_reading_ns: Int64Array
    piece_start: Int64Array
    piece_end: Int64Array
    piece_span: Int64Array
    piece_track: npt.NDArray[np.int32]
    clipped: int
    merged: int = 0
    of_batches: frozenset[str] = frozenset()
    """Labels of stages of datasets that make a whole batch in each call, since they are asked for lists of indices."""
    chosen: Window | None = None
    """The chosen steps: what lies behind them is recorded as well."""

    @property
    def took_ns(self) -> Int64Array:
        """Per span, how long the call itself took."""
        return self.end_ns - self.start_ns - self.reading_ns

    def starts_in(self, window: Window) -> npt.NDArray[np.bool_]:
        """Which spans count for the window: those that start in it; for chosen steps those that have their middle
        there, as one long call may start in them and take all of its time behind them.
        """
        at = self.start_ns if window != self.chosen else self.start_ns + (self.end_ns - self.start_ns) // 2
        inside: npt.NDArray[np.bool_] = (at >= window.start_ns) & (at < window.end_ns)
        return inside

    def pieces_of_track(self, track: int) -> slice:
        """The pieces of one thread."""
        first, last = np.searchsorted(self.piece_track, track), np.searchsorted(self.piece_track, track, side="right")
        return slice(int(first), int(last))


def build_stage_tree(trace: Trace) -> StageTree:
    spans, events = trace.stage_spans, trace.events
    start, end, track = events.start_ns[spans.row], events.end_ns[spans.row], events.track[spans.row]
    nesting = without_inner_waits(nest_by_track(start, end, track), trace, start, end)
    paths, node, merged = _number_paths(trace, nesting)
    readings, own_readings = reading_ns(trace, nesting, start, end)
    is_wait = np.array([path[-1].kind == "wait" for path in paths], dtype=bool)[node]
    readings[is_wait] = own_readings[is_wait] = 0  # it waits meanwhile, for a CPU or for data
    return StageTree(
        paths=paths,
        start_ns=start,
        end_ns=end,
        track=track,
        node=node,
        parent=nesting.parent,
        depth=nesting.depth,
        self_ns=nesting.self_ns(),
        reading_ns=readings,
        own_reading_ns=own_readings,
        piece_start=nesting.piece_start,
        piece_end=nesting.piece_end,
        piece_span=nesting.piece_span,
        piece_track=track[nesting.piece_span],
        clipped=nesting.clipped,
        of_batches=datasets_of_batches(trace),
        merged=merged,
    )


def count_calls(tree: StageTree, spans: npt.NDArray[np.bool_]) -> dict[Path, int]:
    """How many of these spans each place of the tree has, without those that have none."""
    counts = np.bincount(tree.node[spans], minlength=len(tree.paths)).tolist()
    return {path: count for path, count in zip(tree.paths, counts, strict=True) if count}


def _number_paths(trace: Trace, nesting: Nesting) -> tuple[tuple[Path, ...], Int64Array, int]:
    """Gives each distinct chain of stages a number; parents come before children in the walk by depth.

    The wait for a first batch is distinguished in `loader_wait`, not here: its stages are the same as any other's. Also
    gives how many spans stand under `FURTHER`, since there are too many chains.
    """
    stages = [Stage(one.kind, one.label.removesuffix(FIRST_BATCH)) for one in trace.stage_spans.stages]
    kinds = {stage: number for number, stage in enumerate(dict.fromkeys((*stages, FURTHER)))}
    order, last = list(kinds), kinds[FURTHER]
    stage = int64([kinds[one] for one in stages])[trace.stage_spans.stage].tolist()
    numbers: dict[tuple[int, int], int] = {}  # by the number of the chain above, and the stage
    paths: list[Path] = []
    node, merged, parent = [-1] * len(stage), 0, nesting.parent.tolist()
    for span in np.argsort(nesting.depth, kind="stable").tolist():
        above = node[parent[span]] if parent[span] >= 0 else -1
        key = (above, stage[span])
        if key not in numbers and len(numbers) >= MOST_STAGES:
            merged += 1
            if above >= 0 and paths[above][-1] == FURTHER:
                node[span] = above
                continue
            key = (above, last)
        number = numbers.setdefault(key, len(numbers))
        if number == len(paths):
            paths.append((*(paths[above] if above >= 0 else ()), order[key[1]]))
        node[span] = number
    return tuple(paths), int64(node), merged


@dataclass(frozen=True, slots=True)
class StageRow:
    """One line of the stage table. Percentiles and `max_ns` are of what calls took (`StageTree.took_ns`);
    `data_wait_ns` is the data wait that it caused.

    `cpu_ns` is thread CPU time, `cpu_self_ns` that without the stages inside; `bytes` the size of all results,
    extrapolated from the calls of which it was measured. `sizes` has those calls, also of before the window, by the
    span of the sample that they are for (`samples_of`). `place` is the mean place of the
    calls among all calls right inside the enclosing stage, by their start: 0 is the first; None at the top.
    `per_sample`: mean calls in the samples that have any, also of before the window, which cuts some.
    `has_index`: its calls are for samples of a known index. `long_wait_ns`: of `data_wait_ns`, what calls caused that
    are at least half as long as the longest.
    """

    path: Path
    count: int
    total_ns: int
    self_ns: int
    p50_ns: float
    p95_ns: float
    max_ns: int
    data_wait_ns: int | None
    cpu_ns: int | None
    cpu_self_ns: int | None
    bytes: float | None
    place: float | None = None
    per_sample: float = 1.0
    has_index: bool = True
    sizes: Mapping[int, int] = field(default_factory=dict, compare=False)
    long_wait_ns: int | None = None

    @property
    def stage(self) -> Stage:
        return self.path[-1]


def tabulate_stages(
    tree: StageTree, facts: SpanFacts, inside: npt.NDArray[np.bool_], waited: Int64Array | None
) -> tuple[StageRow, ...] | Unavailable:
    """Rows in depth-first order, the largest total first among siblings. `inside`: which spans count.

    `waited`: the data wait that each span caused, without the spans inside it; None when it is not known. A row has it
    of all its spans, also of those that began before the window: a wait within it may be theirs.
    """
    if not (inside & ~_is_wait(tree)).any():
        message = (
            "The trace has no stage markers, so what the loader spent its time on is unknown: annotate the loader that "
            "the loop uses before iter(loader), or call annotate.auto() before the loop, and capture again"
        )
        return Unavailable("stages", "no_stage_markers", message)
    cpu_below, place, sizes = cpu_of_children(tree, facts), _places(tree), _sizes(tree, facts)
    per_sample = _per_sample(tree)
    caused = None if waited is None else _by_node(tree, waited)
    rows = {}
    for number, here in groups(tree.node, np.flatnonzero(inside)):
        data_wait = None if caused is None else int(caused[number])
        row = _row(tree, facts, here, tree.paths[number], data_wait, cpu_below, place)
        rows[row.path] = replace(
            row,
            sizes=sizes.get(number, {}),
            per_sample=per_sample[number],
            long_wait_ns=None if waited is None else _long_wait_ns(tree, here, waited),
        )
    return tuple(_depth_first(rows))


def _long_wait_ns(tree: StageTree, here: npt.NDArray[np.intp], waited: Int64Array) -> int:
    took = tree.took_ns[here]
    return int(waited[here[2 * took >= took.max()]].sum())


def _sizes(tree: StageTree, facts: SpanFacts) -> dict[int, Mapping[int, int]]:
    """By node: the sizes of results that were measured, by the sample that they are for."""
    sample = samples_of(tree)
    return {
        node: dict(zip(sample[here].tolist(), facts.bytes[here].tolist(), strict=True))
        for node, here in groups(tree.node, np.flatnonzero(facts.bytes >= 0))
    }


def _per_sample(tree: StageTree) -> dict[int, float]:
    """By node: `StageRow.per_sample`."""
    sample = samples_of(tree)
    return {
        node: len(here) / len(np.unique(sample[here])) for node, here in groups(tree.node, np.arange(len(tree.node)))
    }


def samples_of(tree: StageTree) -> Int64Array:
    """Per span, that of its sample: the deepest one around it; the outermost span where there is none."""
    is_sample = np.array([path[-1].kind == "sample" for path in tree.paths], dtype=np.bool_)[tree.node]
    found: Int64Array = np.arange(len(tree.node), dtype=np.int64)
    inner = (tree.parent >= 0) & ~is_sample
    for depth in range(int(tree.depth.max(initial=0)) + 1):
        here = np.flatnonzero(inner & (tree.depth == depth))
        found[here] = found[tree.parent[here]]
    return found


def _by_node(tree: StageTree, waited: Int64Array) -> Int64Array:
    total = np.zeros(len(tree.paths), dtype=np.int64)
    np.add.at(total, tree.node, waited)
    return total


def scaled(by_span: Int64Array, tree: StageTree, by_stage: Mapping[str, int]) -> Int64Array:
    """So that the spans of each stage sum to what it caused."""
    names = [path[-1].name for path in tree.paths]
    stages = {name: number for number, name in enumerate(dict.fromkeys(names))}
    stage = np.array([stages[name] for name in names], dtype=np.int64)[tree.node]
    sums = np.bincount(stage, by_span, minlength=len(stages))
    caused = np.array([by_stage.get(name, 0) for name in stages], dtype=np.float64)
    factor = np.divide(caused, sums, out=np.zeros_like(caused), where=sums > 0)
    scaled: Int64Array = np.rint(by_span * factor[stage]).astype(np.int64)
    return scaled


def groups(key: npt.NDArray[Any], rows: npt.NDArray[np.intp]) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """The rows by their key, ascending; each group in the order of `rows`."""
    ordered = rows[np.argsort(key[rows], kind="stable")]
    keys, first = np.unique(key[ordered], return_index=True)
    yield from zip(keys.tolist(), np.split(ordered, first[1:]), strict=True) if len(keys) else ()


def _is_wait(tree: StageTree) -> npt.NDArray[np.bool_]:
    waits = [number for number, path in enumerate(tree.paths) if path[-1].kind == "wait"]
    is_wait: npt.NDArray[np.bool_] = np.isin(tree.node, waits)
    return is_wait


def _row(
    tree: StageTree,
    facts: SpanFacts,
    here: npt.NDArray[np.intp],
    path: Path,
    data_wait_ns: int | None,
    cpu_below: Int64Array,
    place: Int64Array,
) -> StageRow:
    duration, took = tree.end_ns[here] - tree.start_ns[here], tree.took_ns[here]
    p50, p95 = np.percentile(took, (50, 95)).tolist()
    cpu = _sum_if_known(facts.cpu_ns[here])
    return StageRow(
        path=path,
        count=len(here),
        total_ns=int(duration.sum()),
        self_ns=int(tree.self_ns[here].sum()),
        p50_ns=p50,
        p95_ns=p95,
        max_ns=int(took.max()),
        data_wait_ns=None if path[-1].kind in ("wait", "h2d") else data_wait_ns,
        cpu_ns=cpu,
        cpu_self_ns=None if cpu is None else max(0, cpu - int(cpu_below[here].sum())),
        bytes=_extrapolated(facts.bytes[here]),
        place=_mean_place(place[here]),
        has_index=bool((facts.index[here] >= 0).any()),
    )


def _sum_if_known(values: Int64Array) -> int | None:
    return int(values.sum()) if (values >= 0).all() else None


def cpu_of_children(tree: StageTree, facts: SpanFacts) -> Int64Array:
    """Per span, the CPU time of the spans right inside it."""
    total = np.zeros(len(tree.parent), dtype=np.int64)
    inner = np.flatnonzero(tree.parent >= 0)
    np.add.at(total, tree.parent[inner], np.maximum(facts.cpu_ns[inner], 0))
    return total


def _places(tree: StageTree) -> Int64Array:
    """Per span, how many spans right inside the same span start before it; -1 at the top.

    Places are compared and not times: a transform that only some samples get would seem to come early in quick ones.
    """
    order = np.lexsort((tree.start_ns, tree.parent))
    parent = tree.parent[order]
    is_first = np.concatenate(([True], parent[1:] != parent[:-1])) if len(parent) else np.empty(0, dtype=np.bool_)
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(parent)), 0))
    places = np.empty(len(parent), dtype=np.int64)
    places[order] = np.where(parent < 0, -1, np.arange(len(parent)) - first)
    return places


def _mean_place(places: Int64Array) -> float | None:
    inner = places[places >= 0]
    return float(inner.mean()) if len(inner) else None


def _extrapolated(values: Int64Array) -> float | None:
    measured = values[values >= 0]
    return float(measured.mean()) * len(values) if len(measured) else None


def _depth_first(rows: dict[Path, StageRow]) -> list[StageRow]:
    children: dict[Path, list[StageRow]] = {}
    for path, row in rows.items():
        above = path[:-1]
        while above and above not in rows:  # a parent that starts before the window has no row
            above = above[:-1]
        children.setdefault(above, []).append(row)

    def below(path: Path) -> list[StageRow]:
        ordered = sorted(children.get(path, []), key=lambda row: (-row.total_ns, row.path))
        return [nested for row in ordered for nested in (row, *below(row.path))]

    return below(())
