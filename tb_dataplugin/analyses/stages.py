"""Stages as a tree: how often, how long, how long without their children; and which stage a thread was in, when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import FIRST_BATCH, Stage
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window, int64
from tb_dataplugin.model.nesting import nest
from tb_dataplugin.model.trace import SpanFacts, Trace

Path = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class StageTree:
    """Every stage span of every thread, placed in the tree.

    Per span: times, `node` (index into `paths`, the chain of stages from the outermost to its own), `parent` (the
    enclosing span, -1 at the top), self time, depth.
    Per piece of time: `piece_span`, the deepest span that thread was in. Pieces of one thread are disjoint.
    """

    paths: tuple[Path, ...]
    start_ns: Int64Array
    end_ns: Int64Array
    track: npt.NDArray[np.int32]
    node: Int64Array
    parent: Int64Array
    depth: Int64Array
    self_ns: Int64Array
    piece_start: Int64Array
    piece_end: Int64Array
    piece_span: Int64Array
    clipped: int

    def pieces_of_track(self, track: int) -> npt.NDArray[np.bool_]:
        mine: npt.NDArray[np.bool_] = self.track[self.piece_span] == track
        return mine


def build_stage_tree(trace: Trace) -> StageTree:
    spans, events = trace.stage_spans, trace.events
    start, end, track = events.start_ns[spans.row], events.end_ns[spans.row], events.track[spans.row]
    parent, depth = np.full(len(start), -1, dtype=np.int64), np.zeros(len(start), dtype=np.int64)
    pieces: list[Int64Array] = []
    clipped = 0
    for one in np.unique(track).tolist():
        here = np.flatnonzero(track == one)
        nesting = nest(start[here], end[here])
        parent[here] = np.where(nesting.parent < 0, -1, here[nesting.parent])
        depth[here] = nesting.depth
        pieces.append(np.stack((nesting.piece_start, nesting.piece_end, here[nesting.piece_span])))
        clipped += nesting.clipped
    piece = np.concatenate(pieces, axis=1) if pieces else np.zeros((3, 0), dtype=np.int64)
    self_ns = np.zeros(len(start), dtype=np.int64)
    np.add.at(self_ns, piece[2], piece[1] - piece[0])
    paths, node = _number_paths(trace, parent, depth)
    return StageTree(paths, start, end, track, node, parent, depth, self_ns, piece[0], piece[1], piece[2], clipped)


def _number_paths(trace: Trace, parent: Int64Array, depth: Int64Array) -> tuple[tuple[Path, ...], Int64Array]:
    """Gives each distinct chain of stages a number; parents come before children in the walk by depth.

    The wait for a first batch is told apart in `loader_wait`, not here: its stages are the same as any other's.
    """
    stages = [Stage(one.kind, one.label.removesuffix(FIRST_BATCH)) for one in trace.stage_spans.stages]
    stage = trace.stage_spans.stage
    numbers: dict[Path, int] = {}
    node = np.zeros(len(parent), dtype=np.int64)
    path_of: list[Path] = []
    for span in np.argsort(depth, kind="stable").tolist():
        above = path_of[node[parent[span]]] if parent[span] >= 0 else ()
        path = (*above, stages[stage[span]])
        node[span] = numbers.setdefault(path, len(numbers))
        if node[span] == len(path_of):
            path_of.append(path)
    return tuple(path_of), node


@dataclass(frozen=True, slots=True)
class StageRow:
    """One line of the stage table. Percentiles and `max_ns` are of the span duration; `data_wait_ns` is
    the data wait that it caused.

    `cpu_ns` is thread CPU time, `cpu_self_ns` that without the stages inside; `bytes` the size of all results,
    extrapolated from the calls of which it was measured. `offset_ns` is the mean time from the start of the enclosing
    stage to the call, None at the top.
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
    offset_ns: float | None = None

    @property
    def stage(self) -> Stage:
        return self.path[-1]


def tabulate_stages(
    tree: StageTree, facts: SpanFacts, window: Window, waits_by_track: Mapping[int, Intervals]
) -> tuple[StageRow, ...] | Unavailable:
    """Rows in depth-first order, the largest total first among siblings. Spans that start in the window count.

    `waits_by_track`: the data wait that each row of the trace caused; empty when the producing stages
    are not in it.
    """
    inside = (tree.start_ns >= window.start_ns) & (tree.start_ns < window.end_ns)
    if not (inside & ~_is_wait(tree)).any():
        message = (
            "The trace has no stage markers, so what the loader spent its time on is unknown: annotate the loader that "
            "the loop uses, enter annotate.profile before iter(loader), and capture again"
        )
        return Unavailable("stages", "no_stage_markers", message)
    waited = _data_wait_per_span(tree, waits_by_track)
    rows = {}
    for number in np.unique(tree.node[inside]).tolist():
        here = np.flatnonzero(inside & (tree.node == number))
        rows[tree.paths[number]] = _row(tree, facts, here, tree.paths[number], waited)
    return tuple(_depth_first(rows))


def _is_wait(tree: StageTree) -> npt.NDArray[np.bool_]:
    waits = [number for number, path in enumerate(tree.paths) if path[-1].kind == "wait"]
    found: npt.NDArray[np.bool_] = np.isin(tree.node, waits)
    return found


def _data_wait_per_span(tree: StageTree, waits_by_track: Mapping[int, Intervals]) -> Int64Array | None:
    if not waits_by_track:
        return None
    waited = np.zeros(len(tree.start_ns), dtype=np.int64)
    for track, waits in waits_by_track.items():
        mine = np.flatnonzero(tree.pieces_of_track(track))
        np.add.at(waited, tree.piece_span[mine], waits.overlap(tree.piece_start[mine], tree.piece_end[mine]))
    return waited


def _row(
    tree: StageTree, facts: SpanFacts, here: npt.NDArray[np.intp], path: Path, waited: Int64Array | None
) -> StageRow:
    duration = tree.end_ns[here] - tree.start_ns[here]
    p50, p95 = np.percentile(duration, (50, 95)).tolist()
    cpu = _sum_if_known(facts.cpu_ns[here])
    return StageRow(
        path=path,
        count=len(here),
        total_ns=int(duration.sum()),
        self_ns=int(tree.self_ns[here].sum()),
        p50_ns=p50,
        p95_ns=p95,
        max_ns=int(duration.max()),
        data_wait_ns=None if waited is None or path[-1].kind in ("wait", "h2d") else int(waited[here].sum()),
        cpu_ns=cpu,
        cpu_self_ns=None if cpu is None else max(0, cpu - _cpu_of_children(tree, facts, here)),
        bytes=_extrapolated(facts.bytes[here]),
        offset_ns=_mean_offset(tree, here),
    )


def _sum_if_known(values: Int64Array) -> int | None:
    return int(values.sum()) if (values >= 0).all() else None


def _cpu_of_children(tree: StageTree, facts: SpanFacts, here: npt.NDArray[np.intp]) -> int:
    children = np.isin(tree.parent, here)
    return int(np.maximum(facts.cpu_ns[children], 0).sum())


def _mean_offset(tree: StageTree, here: npt.NDArray[np.intp]) -> float | None:
    inner = here[tree.parent[here] >= 0]
    return float((tree.start_ns[inner] - tree.start_ns[tree.parent[inner]]).mean()) if len(inner) else None


def _extrapolated(values: Int64Array) -> float | None:
    measured = values[values >= 0]
    return float(measured.mean()) * len(values) if len(measured) else None


def _depth_first(rows: dict[Path, StageRow]) -> list[StageRow]:
    children: dict[Path, list[StageRow]] = {}
    for path, row in rows.items():
        above = path[:-1]
        while above and above not in rows:  # a parent that starts before the window has no row of its own
            above = above[:-1]
        children.setdefault(above, []).append(row)

    def below(path: Path) -> list[StageRow]:
        ordered = sorted(children.get(path, []), key=lambda row: (-row.total_ns, row.path))
        return [found for row in ordered for found in (row, *below(row.path))]

    return below(())


def stage_pieces(tree: StageTree, track: int) -> tuple[Int64Array, Int64Array, list[Stage]]:
    """The time of one thread, cut up by its deepest stage: starts, ends, stages."""
    mine = tree.pieces_of_track(track)
    stages = [tree.paths[number][-1] for number in tree.node[tree.piece_span[mine]].tolist()]
    return int64(tree.piece_start[mine]), int64(tree.piece_end[mine]), stages
