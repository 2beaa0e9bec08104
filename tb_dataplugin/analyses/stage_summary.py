"""The stages together, without the training thread's wait spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.making import BoolArray
from tb_dataplugin.analyses.stages import StageRow, StageTree
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class StagePlaces:
    """Self time of stages in `workers` DataLoader workers, and in other threads; the training thread has the rest."""

    workers: int
    in_workers_ns: int
    in_others_ns: int


NOWHERE_ELSE: Final = StagePlaces(0, 0, 0)


@dataclass(frozen=True, slots=True)
class StageSummary:
    """`self_ns` sums the self time of all stages, `by_kind_ns` divides it. `highest` has the highest self time; None
    where only waiting was recorded. `samples` counts the `sample` spans, None without any. `caused_ns` is the data
    wait that the stages caused, None when it is not known. `places`: where that self time was spent.
    """

    self_ns: int
    by_kind_ns: Mapping[str, int]
    highest: StageRow | None
    samples: int | None
    caused_ns: int | None
    places: StagePlaces


def find_stage_places(trace: Trace, tree: StageTree, counted: BoolArray) -> StagePlaces:
    """Of these spans. Threads that a worker's own code starts are not the worker's, as nowhere in the report."""
    is_wait = np.array([path[-1].kind == "wait" for path in tree.paths], dtype=np.bool_)
    rows = np.flatnonzero(counted & ~is_wait[tree.node] & (tree.self_ns > 0))
    tracks, track, own = trace.worker_tracks(), tree.track[rows], tree.self_ns[rows]
    in_worker, in_training = np.isin(track, list(tracks)), track == trace.training_track
    workers = {(tracks[number].loader, tracks[number].worker) for number in np.unique(track[in_worker]).tolist()}
    return StagePlaces(len(workers), int(own[in_worker].sum()), int(own[~in_worker & ~in_training].sum()))


def summarise_stages(rows: tuple[StageRow, ...], places: StagePlaces = NOWHERE_ELSE) -> StageSummary | None:
    """None without stages."""
    if not rows:
        return None
    work = [row for row in rows if row.stage.kind != "wait"]
    by_kind: dict[str, int] = {}
    for row in work:
        by_kind[row.stage.kind] = by_kind.get(row.stage.kind, 0) + row.self_ns
    caused = [row.data_wait_ns for row in work if row.data_wait_ns is not None]
    return StageSummary(
        self_ns=sum(by_kind.values()),
        by_kind_ns={kind: time for kind, time in sorted(by_kind.items(), key=lambda kind: -kind[1]) if time > 0},
        highest=max(work, key=lambda row: row.self_ns, default=None),
        samples=sum(row.count for row in work if row.stage.kind == "sample") or None,
        caused_ns=sum(caused) if caused else None,
        places=places,
    )
