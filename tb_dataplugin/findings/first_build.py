"""How the DataLoader workers that an epoch started built their first batches, beside all other batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.line_signals import HotLine, hottest

MOSTLY: Final = 0.8
"""Share of a stage's self time that it has at the starts of epochs, from which its hottest line is theirs."""


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """How DataLoader workers that an epoch started built their first batches: mean, and the median of all others. Most
    of it was in `stage`, and of that in `line` where one stands out.
    """

    mean_us: float
    others_us: float
    stage: str
    stage_share: float
    line: HotLine | None


def find_first_build(results: Results, apart: Apart) -> FirstBuild | None:
    workers = results.workers
    if workers is None or not len(apart.batches):
        return None
    build = workers.batches.build_ns
    mine = known(build) & (workers.batches.table.loader == results.use.in_workers)
    first, others = build[mine & apart.batches], build[mine & ~apart.batches]
    tree = results.tree
    spans = np.flatnonzero(apart.spans & np.isin(tree.track, list(results.trace.worker_tracks())))
    if not len(first) or not len(others) or not len(spans):
        return None
    spent = np.zeros(len(tree.paths), dtype=np.int64)
    np.add.at(spent, tree.node[spans], tree.self_ns[spans])
    by_stage: dict[str, int] = {}
    for path, time in zip(tree.paths, spent.tolist(), strict=True):
        by_stage[path[-1].name] = by_stage.get(path[-1].name, 0) + time
    stage = max(by_stage, key=lambda name: by_stage[name])
    whole = sum(row.self_ns for row in results.stages if row.stage.name == stage)
    lines = dict(_lines(results)) if whole and by_stage[stage] >= MOSTLY * whole else {}
    share = by_stage[stage] / max(1, sum(by_stage.values()))
    return FirstBuild(float(first.mean()) / 1e3, float(np.median(others)) / 1e3, stage, share, lines.get(stage))


def _lines(results: Results) -> Iterable[tuple[str, HotLine]]:
    return hottest((stage.name, part) for stage, part in results.lines.serving.items()) if results.lines else ()
