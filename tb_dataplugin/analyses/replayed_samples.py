"""Samples that were loaded again, alone: what each load took, in which stage, and at which line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotate.trace_format import Stage
from tb_dataplugin.analyses.hot_lines import PartLines
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.model.intervals import Int64Array, Intervals
from tb_dataplugin.model.replayed import Replayed
from tb_dataplugin.model.trace import Trace

READING: Final = ("read", "decode")

LinesAt = Callable[[Intervals], PartLines]
"""The lines of the training thread in some stretches of time."""


@dataclass(frozen=True, slots=True)
class ReplayedSample:
    """`warm_ns` is the median of `loads` loads with the files in the page cache, `fastest_ns` the fastest of them, and
    `cpu_ns` their median CPU time; `cold_ns` one load with the files from storage. `captured_ns`, `read_ns`,
    `typical_ns`, `storage_share`, `captured_line`: of the capture that it was named from, as in `Replayed`. None: not
    known. `usual_ns`: what a usual sample of that capture took alone.

    `stage` has the most self time in all loads, `stage_share` of it; `line` the most samples of stacks, None: too few.

    `absent`: the stage with most of its time in that capture, where no load ran it, else "". `differs`: as in
    `Replayed`. `reads`: a load opened a file, or ran a stage that reads or decodes.
    """

    index: int
    warm_ns: int
    fastest_ns: int
    cpu_ns: int | None
    loads: int
    cold_ns: int | None
    captured_ns: int | None
    stage: Stage
    stage_share: float
    line: LineRow | None
    files: tuple[str, ...]
    typical_ns: int | None = None
    read_ns: int | None = None
    storage_share: float | None = None
    captured_line: str = ""
    usual_ns: int | None = None
    absent: str = ""
    differs: tuple[str, ...] = ()
    reads: bool = True


def find_replayed_samples(trace: Trace, tree: StageTree, lines_at: LinesAt | None) -> tuple[ReplayedSample, ...]:
    """Those whose loads were recorded, in the order of the replay. Empty: no samples were named."""
    pipeline = trace.info.pipeline
    if pipeline is None or not pipeline.replayed:
        return ()
    is_sample = np.array([path[-1].kind == "sample" for path in tree.paths], dtype=np.bool_)
    rows = np.flatnonzero(is_sample[tree.node] & (tree.track == (trace.training_track or 0)))
    rows = rows[np.argsort(tree.start_ns[rows], kind="stable")]
    index = trace.span_facts.index[rows]
    length, usual = tree.took_ns[rows], [index == one for one in pipeline.replayed_usual]
    usual_ns = _usual_ns([length[loads][1:] for loads in usual])
    found = (_sample(trace, tree, rows[index == replayed.index], replayed, lines_at) for replayed in pipeline.replayed)
    return tuple(replace(sample, usual_ns=usual_ns) for sample in found if sample)


def _usual_ns(loads: Sequence[Int64Array]) -> int | None:
    """`loads`: of each usual sample, without the first."""
    warm = [float(np.median(times)) for times in loads if len(times)]
    return int(np.median(warm)) if warm else None


def _sample(
    trace: Trace, tree: StageTree, rows: Int64Array, replayed: Replayed, lines_at: LinesAt | None
) -> ReplayedSample | None:
    """`rows`: spans of its loads, in order. The first one is not counted: what it found cached is not known."""
    length = tree.took_ns[rows]
    are_warm = slice(1, -1 if replayed.is_cold else None)
    warm, cpu = length[are_warm], trace.span_facts.cpu_ns[rows[are_warm]]
    if not len(warm):
        return None
    spent = _spent(tree, rows)
    stage = max(spent, key=lambda stage: spent[stage])
    part = lines_at(Intervals.union(tree.start_ns[rows], tree.end_ns[rows])) if lines_at else None
    return ReplayedSample(
        index=replayed.index,
        warm_ns=int(np.median(warm)),
        fastest_ns=int(warm.min()),
        cpu_ns=int(np.median(cpu)) if (cpu >= 0).all() else None,
        loads=len(warm),
        cold_ns=int(length[-1]) if replayed.is_cold else None,
        captured_ns=replayed.captured_ns,
        stage=stage,
        stage_share=spent[stage] / max(1, sum(spent.values())),
        line=part.rows[0] if part and part.rows else None,
        files=replayed.files,
        typical_ns=replayed.typical_ns,
        read_ns=replayed.read_ns,
        storage_share=replayed.storage_share,
        captured_line=replayed.line,
        absent="" if replayed.stage in {ran.name for ran in spent} else replayed.stage,
        differs=replayed.differs,
        reads=bool(replayed.files) or any(ran.kind in READING for ran in spent),
    )


def _spent(tree: StageTree, rows: Int64Array) -> dict[Stage, int]:
    """Self time of each stage that ran inside of some spans of one thread."""
    pieces = tree.pieces_of_track(int(tree.track[rows[0]]))
    start, end, owner = tree.piece_start[pieces], tree.piece_end[pieces], tree.piece_span[pieces]
    within = Intervals.union(tree.start_ns[rows], tree.end_ns[rows]).contains(start)
    spent: dict[Stage, int] = {}
    for span, time in zip(owner[within].tolist(), (end - start)[within].tolist(), strict=True):
        stage = tree.paths[tree.node[span]][-1]
        spent[stage] = spent.get(stage, 0) + time
    return spent
