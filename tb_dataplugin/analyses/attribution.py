"""Who is to blame: every idle nanosecond gets one cause, every waiting nanosecond one stage.

Laws, exact: causes sum to idle, per gap and per device; stages sum to the data wait; the stages of a device's idle time
sum to its cause `data_wait`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree, stage_pieces
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals
from tb_dataplugin.model.trace import Trace

Cause = Literal["data_wait", "unknown"]

OTHER = "other"
"""Blame for waiting time between stages."""


@dataclass(frozen=True, slots=True)
class DeviceAttribution:
    """`gap_data_wait_ns[i]` is the data wait within gap i; `gap_stage[i]` the stage with most of it ("" if none).

    `by_cause_ns` has no `data_wait` when the data wait is unknown; the whole idle time is `unknown` then.
    """

    device: int
    by_cause_ns: dict[Cause, int]
    by_stage_ns: dict[str, int]
    gap_data_wait_ns: Int64Array
    gap_stage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribution:
    """`blamable_waits` is the data wait as time; it and `wait_by_stage_ns` are missing when the stages that made the
    batches are not in the trace.
    """

    wait_by_stage_ns: dict[str, int] | Unavailable
    blamable_waits: Intervals | None
    devices: tuple[DeviceAttribution, ...]


def attribute(
    trace: Trace, tree: StageTree, loader: LoaderWait | Unavailable, devices: tuple[DeviceIdle, ...] | Unavailable
) -> Attribution:
    waits = None if isinstance(loader, Unavailable) else loader.waits
    blamed = _stages_while_waiting(trace, tree, waits or EMPTY)
    by_stage = {} if isinstance(blamed, Unavailable) else blamed
    return Attribution(
        wait_by_stage_ns=blamed if isinstance(blamed, Unavailable) else _totals(blamed),
        blamable_waits=None if isinstance(blamed, Unavailable) else waits,
        devices=()
        if isinstance(devices, Unavailable)
        else tuple(_attribute_device(device, waits, by_stage) for device in devices),
    )


def _stages_while_waiting(trace: Trace, tree: StageTree, waits: Intervals) -> dict[str, Intervals] | Unavailable:
    """Per stage, the waiting time that it had. Without workers the stages stand in the waiting thread itself."""
    if not len(waits) or trace.training_track is None:
        return Unavailable("blame", "no_data_wait", "There is no data wait to pass on to stages")
    start, end, stages = stage_pieces(tree, trace.training_track)
    names = np.array([OTHER if stage.kind == "wait" else stage.name for stage in stages], dtype=object)
    touches = waits.overlap(start, end) > 0
    if not (touches & (names != OTHER)).any():
        message = (
            "No stage stands inside the data wait, so the wait cannot be passed on to a stage: DataLoader workers run "
            "the stages in other processes; capture annotate.replay(loader, ...) to see them, or use num_workers=0"
        )
        return Unavailable("blame", "no_stages_in_wait", message)
    found = {name: Intervals.union(start[names == name], end[names == name]) for name in np.unique(names[touches])}
    return {str(name): waits.intersect(pieces) for name, pieces in found.items()}


def _totals(by_stage: dict[str, Intervals]) -> dict[str, int]:
    return {name: waits.total_ns for name, waits in by_stage.items() if waits.total_ns}


def _attribute_device(device: DeviceIdle, waits: Intervals | None, by_stage: dict[str, Intervals]) -> DeviceAttribution:
    gaps = device.gaps
    data_wait = (waits or EMPTY).overlap(gaps.start, gaps.end)
    waited = int(data_wait.sum())
    by_cause: dict[Cause, int] = {"unknown": gaps.total_ns - waited}
    if waits is not None:
        by_cause["data_wait"] = waited
    shares = {name: stage.overlap(gaps.start, gaps.end) for name, stage in by_stage.items()}
    return DeviceAttribution(
        device=device.device,
        by_cause_ns=by_cause,
        by_stage_ns={name: int(share.sum()) for name, share in shares.items() if share.any()},
        gap_data_wait_ns=data_wait,
        gap_stage=_largest(shares, len(gaps)),
    )


def _largest(shares: dict[str, Int64Array], count: int) -> tuple[str, ...]:
    if not shares:
        return ("",) * count
    names = list(shares)
    table: npt.NDArray[np.int64] = np.stack([shares[name] for name in names])
    best = table.argmax(axis=0)
    return tuple(names[i] if table[i, gap] else "" for gap, i in enumerate(best.tolist()))
