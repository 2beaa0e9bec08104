"""Data wait by stage, idle time by cause: every waiting nanosecond gets one stage, every idle nanosecond one cause.

Which stage has the data wait: `wait_shares`. Which cause has the idle time: `idle_causes`.

Laws, exact: causes sum to idle, per gap and per device; stages sum to the data wait; the stages of a device's idle time
sum to its cause `data_wait`. That cause goes by launch order (`idle_causes`) and is at most the exposed wait, which is
mere overlap: a wait is exposed but not the cause while what ends the gap was launched already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.idle_causes import Cause, IdleCauses, find_idle_causes
from tb_dataplugin.analyses.launches import NONE, GapEnds
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wait_parts import SHUTDOWN
from tb_dataplugin.analyses.wait_shares import share_out
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class DeviceAttribution:
    """`causes` are disjoint sets of time whose union is the gaps; one that cannot be known is missing.

    Per gap: the stage with most of its data wait ("" if none), what ended it, and `gap_causes_ns`, its time by cause.
    `unlaunched` and `gap_queued_ns` are those of `IdleCauses`.
    """

    device: int
    causes: Mapping[Cause, Intervals]
    by_stage_ns: dict[str, int]
    gap_causes_ns: Mapping[Cause, Int64Array]
    gap_stage: tuple[str, ...]
    gap_stage_ns: Int64Array
    gap_ends: GapEnds
    unlaunched: int
    gap_queued_ns: Int64Array

    @property
    def queued_ns(self) -> int:
        """Of all gaps."""
        return int(self.gap_queued_ns.sum())

    @property
    def has_launches(self) -> bool:
        """Whether the launch of anything that ended a gap is in the trace."""
        return bool((self.gap_ends.launch != NONE).any())

    @property
    def by_cause_ns(self) -> dict[Cause, int]:
        return {cause: time.total_ns for cause, time in self.causes.items()}


@dataclass(frozen=True, slots=True)
class Attribution:
    """`wait_by_stage_ns` is None when the stages that built the batches are not in the trace; `why_not` says so.

    `wait_by_span_ns`: per stage span, the data wait that it caused, without the spans inside it; None as above.
    `wrapped`: by its label, the data wait in the own code of an iterator that has no spans. `shutdown`: the part in
    which a loader ended its workers. `by_stage`: the data wait of `wait_by_stage_ns` itself.
    """

    wait_by_stage_ns: dict[str, int] | None
    why_not: Unavailable | None
    wait_by_span_ns: Int64Array | None
    devices: tuple[DeviceAttribution, ...]
    wrapped: Mapping[str, Intervals] = field(default_factory=dict)
    shutdown: Intervals = EMPTY
    by_stage: Mapping[str, Intervals] = field(default_factory=dict)


def attribute(
    trace: Trace,
    tree: StageTree,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    workers: Workers | None,
) -> Attribution:
    waits = None if loader is None else loader.waits
    shares = share_out(trace, tree, waits or EMPTY, workers)
    known = None if isinstance(shares, Unavailable) else shares
    causes = find_idle_causes(trace, devices, waits)
    by_stage = known.by_stage if known else {}
    return Attribution(
        wait_by_stage_ns=totals(known.by_stage) if known else None,
        why_not=shares if isinstance(shares, Unavailable) else None,
        wait_by_span_ns=known.by_span_ns if known else None,
        devices=tuple(_attribute_device(device, idle, by_stage) for device, idle in zip(devices, causes, strict=True)),
        wrapped=known.wrapped if known else {},
        shutdown=by_stage.get(SHUTDOWN, EMPTY),
        by_stage=by_stage,
    )


def totals(by_stage: dict[str, Intervals]) -> dict[str, int]:
    return {name: waits.total_ns for name, waits in by_stage.items() if waits.total_ns}


def _attribute_device(device: DeviceIdle, idle: IdleCauses, by_stage: dict[str, Intervals]) -> DeviceAttribution:
    gaps, waited = device.gaps, idle.causes.get("data_wait", EMPTY)
    shares = shares_of_gaps(gaps, {name: stage.intersect(waited) for name, stage in by_stage.items()})
    return DeviceAttribution(
        device=device.device,
        causes=idle.causes,
        by_stage_ns=shares.by_stage_ns,
        gap_causes_ns=idle.per_gap(gaps),
        gap_stage=shares.largest,
        gap_stage_ns=shares.largest_ns,
        gap_ends=idle.ends,
        unlaunched=idle.unlaunched,
        gap_queued_ns=idle.gap_queued_ns,
    )


@dataclass(frozen=True, slots=True)
class _GapShares:
    """`largest`: per gap, the stage that has most of its data wait, "" where it has none; `largest_ns` of it."""

    by_stage_ns: dict[str, int]
    largest: tuple[str, ...]
    largest_ns: Int64Array


def shares_of_gaps(gaps: Intervals, waited: Mapping[str, Intervals]) -> _GapShares:
    """`waited`: by stage, its part of the gaps' data wait; every interval of it lies in one gap.

    Only gaps in which a stage has a part cost anything: a table of all stages by all gaps would not fit into memory.
    """
    names = list(waited)
    stage = np.repeat(np.arange(len(names)), [len(waited[name]) for name in names])
    start = np.concatenate([waited[name].start for name in names]) if names else np.zeros(0, dtype=np.int64)
    length = np.concatenate([waited[name].durations for name in names]) if names else start
    gap = np.searchsorted(gaps.start, start, side="right") - 1
    key, place = np.unique(gap * max(1, len(names)) + stage, return_inverse=True)
    total = np.zeros(len(key), dtype=np.int64)
    np.add.at(total, place, length)
    gap, stage = np.divmod(key, max(1, len(names)))
    order = np.lexsort((-stage, total, gap))  # of equal stages the first is written last, and stays
    largest, largest_ns = [""] * len(gaps), np.zeros(len(gaps), dtype=np.int64)
    for row in order.tolist():
        largest[int(gap[row])] = names[int(stage[row])]
    largest_ns[gap[order]] = total[order]
    summed = {name: waited[name].total_ns for name in names}
    return _GapShares({name: time for name, time in summed.items() if time}, tuple(largest), largest_ns)
