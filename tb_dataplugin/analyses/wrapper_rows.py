"""Rows of the stage table for iterators around a loader whose own code has no spans, as `prof.steps` is given them.

A call is a wait of the training thread in that iterator; its self time is what the attribution found to be its own
code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from annotate.trace_format import Stage
from tb_dataplugin.analyses.fed_waits import waits_around_loaders, without_first
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.model.intervals import Intervals, Window
from tb_dataplugin.model.trace import Trace


def with_wrappers(
    rows: tuple[StageRow, ...], trace: Trace, window: Window, wrapped: Mapping[str, Intervals]
) -> tuple[StageRow, ...]:
    """The table with a row below each such iterator's wait."""
    own = {row.path[0]: row for row in _rows(trace, window, wrapped)}
    found: list[StageRow] = []
    for row in rows:
        below = own.pop(row.stage, None) if len(row.path) == 1 else None
        found.append(row if below is None else replace(row, self_ns=max(0, row.self_ns - below.self_ns)))
        found.extend(() if below is None else (below,))
    return (*found, *own.values())


def path_of(label: str) -> Path:
    """Of such an iterator's own code, in the tree of stages."""
    return Stage("wait", label), Stage("wrapper", label)


def with_wrapper_paths(tree: StageTree, wrapped: Mapping[str, Intervals]) -> StageTree:
    """The tree with their paths behind all others; no span has one of them."""
    return replace(tree, paths=(*tree.paths, *map(path_of, wrapped))) if wrapped else tree


def _rows(trace: Trace, window: Window, wrapped: Mapping[str, Intervals]) -> Iterator[StageRow]:
    waits: dict[str, list[Intervals]] = {}
    for stage, start, end in waits_around_loaders(trace) if wrapped else ():
        inside = (start >= window.start_ns) & (start < window.end_ns)
        waits.setdefault(without_first(stage), []).append(Intervals.union(start[inside], end[inside]))
    for label, own in wrapped.items():
        calls = Intervals.union_of(waits.get(label, ()))
        if len(calls):
            yield _row(label, calls, own)


def _row(label: str, calls: Intervals, own: Intervals) -> StageRow:
    p50, p95 = np.percentile(calls.durations, (50, 95)).tolist()
    return StageRow(
        path=path_of(label),
        count=len(calls),
        total_ns=calls.total_ns,
        self_ns=own.total_ns,
        p50_ns=p50,
        p95_ns=p95,
        max_ns=int(calls.durations.max()),
        data_wait_ns=own.total_ns,
        cpu_ns=None,
        cpu_self_ns=None,
        bytes=None,
    )
