"""Stages that wait for other threads of their process: a pool in ``__getitem__``, a buffer that a thread fills.

A stage without a CPU, while other threads of its process are in stages, waits for them, and what it costs the loop is
theirs. So its own time is passed on to their deepest spans: at each moment in equal parts to all threads that are in a
stage, and of each span no more than it was without a CPU. Its self time in the table stays its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import StageTree, cpu_of_children
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import Trace

_MOST_THREADS: Final = 32
"""Of one process at once that are looked at, those with most time in stages: a bound on memory."""
_WAITING_KINDS: Final = frozenset({"sample", "read", "decode", "transform", "collate", "wrapper"})
"""Stages that build batches. A `wait` is passed on by rules of its own."""

Rows = npt.NDArray[np.intp]


def pass_to_threads(trace: Trace, tree: StageTree) -> StageTree:
    """The tree with other pieces: time in which a stage waited for threads of its process is theirs.

    A piece then stands on the row of the stage that waited, and belongs to a span of another row.
    """
    passed = [part for main, beside in _processes(trace, tree) for part in _passed(trace, tree, main, beside)]
    if not passed:
        return tree
    row, start, end, span = (np.concatenate(column) for column in zip(*passed, strict=True))
    kept_row, kept_start, kept_end = _without(tree, row, start, end)
    starts, ends = np.concatenate((kept_start, start)), np.concatenate((kept_end, end))
    spans = np.concatenate((tree.piece_span[kept_row], span))
    tracks = np.concatenate((tree.piece_track[kept_row], tree.piece_track[row]))
    order = np.lexsort((starts, tracks))
    return replace(
        tree, piece_start=starts[order], piece_end=ends[order], piece_span=spans[order], piece_track=tracks[order]
    )


def _processes(trace: Trace, tree: StageTree) -> Iterator[tuple[int, list[int]]]:
    """The row of each thread that makes batches, and those of the other threads of its process that are in stages."""
    own = [*trace.worker_tracks(), *(() if trace.training_track is None else (trace.training_track,))]
    with_stages = set(np.unique(tree.piece_track).tolist())
    for main in dict.fromkeys(own):
        pid = trace.tracks[main].pid
        beside = [track for track in sorted(with_stages) if trace.tracks[track].pid == pid and track not in own]
        if beside and main in with_stages:
            yield main, beside


def _passed(
    trace: Trace, tree: StageTree, main: int, beside: list[int]
) -> list[tuple[Rows, Int64Array, Int64Array, Int64Array]]:
    """What one thread passes on: of which piece, from when, to when, to which span."""
    mine = np.arange(tree.piece_start.size)[tree.pieces_of_track(main)]
    waits = np.array([path[-1].kind in _WAITING_KINDS for path in tree.paths], dtype=np.bool_)
    mine = mine[waits[tree.node[tree.piece_span[mine]]]]
    threads = _one_after_the_other(tree, [_building_pieces(tree, track, waits) for track in beside])
    threads = sorted(threads, key=lambda rows: -int((tree.piece_end[rows] - tree.piece_start[rows]).sum()))
    threads = threads[:_MOST_THREADS]
    if not len(mine) or not threads:
        return []
    busy = Intervals.union_of(Intervals(tree.piece_start[rows], tree.piece_end[rows]) for rows in threads)
    share = _waiting_share(trace, tree, mine, busy)
    edges = np.unique(np.concatenate([tree.piece_start[mine], tree.piece_end[mine], *_edges(tree, threads)]))
    begin, end = edges[:-1], edges[1:]
    row = _piece_at(tree, mine, begin)
    here = (row >= 0) & (share[np.maximum(row, 0)] > 0) & (busy.overlap(begin, end) > 0)
    begin, end, row = begin[here], end[here], row[here]
    held = np.stack([_piece_at(tree, rows, begin) for rows in threads])
    return _cut(tree, begin, end, row, share[row], held)


def _building_pieces(tree: StageTree, track: int, waits: npt.NDArray[np.bool_]) -> Rows:
    rows = np.arange(tree.piece_start.size)[tree.pieces_of_track(track)]
    return rows[waits[tree.node[tree.piece_span[rows]]]]


def _one_after_the_other(tree: StageTree, threads: list[Rows]) -> list[Rows]:
    """Threads that lived one after the other (a pool for each sample) as one."""
    joined: list[list[Rows]] = []
    free: list[tuple[int, int]] = []
    for rows in sorted((rows for rows in threads if len(rows)), key=lambda rows: int(tree.piece_start[rows[0]])):
        start, end = int(tree.piece_start[rows[0]]), int(tree.piece_end[rows[-1]])
        place = heappop(free)[1] if free and free[0][0] <= start else len(joined)
        if place == len(joined):
            joined.append([])
        joined[place].append(rows)
        heappush(free, (end, place))
    return [np.concatenate(rows) for rows in joined]


def _waiting_share(trace: Trace, tree: StageTree, mine: Rows, busy: Intervals) -> npt.NDArray[np.float64]:
    """By piece: how much of its time beside `busy` threads its span was without a CPU, at most 1; 0 where its CPU time
    is not known."""
    beside = np.zeros(len(tree.start_ns), dtype=np.int64)
    np.add.at(beside, tree.piece_span[mine], busy.overlap(tree.piece_start[mine], tree.piece_end[mine]))
    facts = trace.span_facts
    cpu = np.maximum(facts.cpu_ns - cpu_of_children(tree, facts), 0)
    idle = np.where(facts.cpu_ns < 0, 0, np.maximum(tree.self_ns - cpu, 0))
    of_span = np.clip(idle / np.maximum(beside, 1), 0.0, 1.0)
    by_piece = np.zeros(len(tree.piece_start))
    by_piece[mine] = of_span[tree.piece_span[mine]]
    return by_piece


def _edges(tree: StageTree, threads: list[Rows]) -> Iterator[Int64Array]:
    for rows in threads:
        yield tree.piece_start[rows]
        yield tree.piece_end[rows]


def _piece_at(tree: StageTree, rows: Rows, moment: Int64Array) -> Rows:
    """The piece among `rows`, disjoint and by time, that lies at each moment; -1 for none."""
    at = np.searchsorted(tree.piece_start[rows], moment, side="right") - 1
    found = rows[np.maximum(at, 0)]
    return np.where((at >= 0) & (moment < tree.piece_end[found]), found, -1)


def _cut(
    tree: StageTree, begin: Int64Array, end: Int64Array, row: Rows, share: npt.NDArray[np.float64], held: Rows
) -> list[tuple[Rows, Int64Array, Int64Array, Int64Array]]:
    """Cuts each stretch: first what stays with its own span, then equal parts for those that `held` it."""
    first = end - np.rint((end - begin) * share).astype(np.int64)
    place, count = np.cumsum(held >= 0, axis=0) - 1, np.maximum((held >= 0).sum(axis=0), 1)
    parts = []
    for number, piece in enumerate(held):
        since = first + (end - first) * place[number] // count
        until = first + (end - first) * (place[number] + 1) // count
        has = np.flatnonzero((piece >= 0) & (until > since))
        parts.append((row[has], since[has], until[has], tree.piece_span[piece[has]]))
    return parts


def _without(tree: StageTree, row: Rows, start: Int64Array, end: Int64Array) -> tuple[Rows, Int64Array, Int64Array]:
    """All pieces without the stretches that were taken out of them: which piece, from when, to when."""
    kept_row, kept_start, kept_end = [], [], []
    changed = np.zeros(len(tree.piece_start), dtype=np.bool_)
    changed[row] = True
    for track in np.unique(tree.piece_track[row]).tolist():
        mine = np.flatnonzero(changed & (tree.piece_track == track))
        of_track = tree.piece_track[row] == track
        taken = Intervals.union(start[of_track], end[of_track])
        left = taken.complement(Window(int(tree.piece_start[mine].min()), int(tree.piece_end[mine].max())))
        piece, part = left.touching(tree.piece_start[mine], tree.piece_end[mine])
        kept_row.append(mine[piece])
        kept_start.append(np.maximum(tree.piece_start[mine[piece]], left.start[part]))
        kept_end.append(np.minimum(tree.piece_end[mine[piece]], left.end[part]))
    others = np.flatnonzero(~changed)
    return (
        np.concatenate((others, *kept_row)),
        np.concatenate((tree.piece_start[others], *kept_start)),
        np.concatenate((tree.piece_end[others], *kept_end)),
    )
