"""Data wait by stage, idle time by cause: every waiting nanosecond gets one stage, every idle nanosecond one cause.

A wait for a batch that a DataLoader worker made is passed on to what that worker was in, until it had the batch ready:
its deepest stage, ``startup`` while the process was not ready, ``starved`` while it had no index to work on, ``other``
between stages; after that it is ``transfer``. Any other wait is passed on to the stages in the waiting thread itself.

Laws, exact: causes sum to idle, per gap and per device; stages sum to the data wait; the stages of a device's idle time
sum to its cause `data_wait`. That cause goes by launch order (`idle_causes`) and is at most the exposed wait, which is
mere overlap: a wait is exposed but not the cause while what ends the gap was launched already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.idle_causes import Cause, IdleCauses, find_idle_causes
from tb_dataplugin.analyses.launches import NONE, GapEnds
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageTree, groups, stage_pieces
from tb_dataplugin.analyses.workers import Workers, WorkerTimes
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array, Intervals
from tb_dataplugin.model.trace import Trace

OTHER, STARTUP, STARVED, TRANSFER = "other", "startup", "starved", "transfer"
"""Data wait that no stage caused."""

UNRECORDED = "unrecorded"
"""Waits for a batch whose worker left no record."""


@dataclass(frozen=True, slots=True)
class DeviceAttribution:
    """`causes` are disjoint sets of time whose union is the gaps; one that cannot be known is missing.

    Per gap: the stage with most of its data wait ("" if none), what ended it, and `gap_causes_ns`, its time by cause.
    `unlaunched` and `queued_ns` are those of `IdleCauses`.
    """

    device: int
    causes: Mapping[Cause, Intervals]
    by_stage_ns: dict[str, int]
    gap_causes_ns: Mapping[Cause, Int64Array]
    gap_stage: tuple[str, ...]
    gap_ends: GapEnds
    unlaunched: int
    queued_ns: int

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

    `waits_by_track`: per row of the trace, the waiting time that was passed on to what that row did.
    """

    wait_by_stage_ns: dict[str, int] | None
    why_not: Unavailable | None
    waits_by_track: Mapping[int, Intervals]
    devices: tuple[DeviceAttribution, ...]


def attribute(
    trace: Trace,
    tree: StageTree,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    workers: Workers | None,
) -> Attribution:
    waits = None if loader is None else loader.waits
    shares = _share_out(trace, tree, waits or EMPTY, workers)
    known = None if isinstance(shares, Unavailable) else shares
    causes = find_idle_causes(trace, devices, waits)
    by_stage = known.by_stage if known else {}
    return Attribution(
        wait_by_stage_ns=_totals(known.by_stage) if known else None,
        why_not=shares if isinstance(shares, Unavailable) else None,
        waits_by_track=known.by_track if known else {},
        devices=tuple(_attribute_device(device, idle, by_stage) for device, idle in zip(devices, causes, strict=True)),
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """The data wait, divided: the sets are disjoint and their union is the data wait."""

    by_stage: dict[str, Intervals]
    by_track: dict[int, Intervals]


def _share_out(trace: Trace, tree: StageTree, waits: Intervals, workers: Workers | None) -> _Shares | Unavailable:
    if not len(waits) or trace.training_track is None:
        return Unavailable("wait_by_stage", "no_data_wait", "There is no data wait to pass on to stages")
    parts: list[tuple[str, Intervals]] = []
    by_track: dict[int, Intervals] = {}
    own = waits
    if workers is not None:
        for track, times in _by_track(trace, workers).items():
            made, moved = _waits_for(workers, times)
            made = made.intersect(own)  # a wait may have received several batches: its time is given away once
            moved = moved.intersect(own).minus(made)
            by_track[track] = made
            own = own.minus(made).minus(moved)
            parts += [(TRANSFER, moved), *_share_of_worker(tree, track, times, made)]
    by_track[trace.training_track] = own
    here = _share_of_track(tree, trace.training_track, own)
    if not any(name != OTHER for name, _ in (*parts, *here)):
        return _no_stages()
    if workers is not None and all(name == OTHER for name, _ in here):
        here = [(UNRECORDED, own)]
    by_stage: dict[str, list[Intervals]] = {}
    for name, part in (*parts, *here):
        by_stage.setdefault(name, []).append(part)
    return _Shares({name: Intervals.union_of(sets) for name, sets in by_stage.items()}, by_track)


def _no_stages() -> Unavailable:
    message = (
        "No stage stands inside the data wait, so the wait cannot be passed on to a stage: annotate the loader with "
        "annotate.loader(loader) and capture again with annotate.profile"
    )
    return Unavailable("wait_by_stage", "no_stages_in_wait", message)


def _by_track(trace: Trace, workers: Workers) -> dict[int, WorkerTimes]:
    """Row of the trace -> the worker's times. A worker without any span has a row number of its own below zero."""
    rows = {process.pid: track for track, process in trace.worker_tracks().items()}
    return {rows.get(one.process.pid, -1 - number): one for number, one in enumerate(workers.times)}


def _waits_for(workers: Workers, times: WorkerTimes) -> tuple[Intervals, Intervals]:
    """Waits for this worker's batches: until a batch was finished, and from there until it was there."""
    batches, process = workers.batches, times.process
    mine = (batches.table.pid == process.pid) & (batches.table.loader == process.loader)
    mine &= known(batches.wait_start_ns) & known(batches.table.finished_ns)
    start, end, finished = batches.wait_start_ns[mine], batches.wait_end_ns[mine], batches.table.finished_ns[mine]
    ready = np.clip(finished, start, end)
    return Intervals.union(start, ready), Intervals.union(ready, end)


def _share_of_worker(tree: StageTree, track: int, times: WorkerTimes, made: Intervals) -> list[tuple[str, Intervals]]:
    """Divides the waits `made` by what the worker was in."""
    parts = [part for part in _share_of_track(tree, track, made) if part[0] != OTHER]
    rest = made.minus(Intervals.union_of(part for _, part in parts))
    startup = rest.minus(Intervals.union([times.process.started_ns], [int(rest.end[-1])])) if len(rest) else EMPTY
    starved = rest.minus(startup).minus(times.outstanding)
    return [*parts, (STARTUP, startup), (STARVED, starved), (OTHER, rest.minus(startup).minus(starved))]


def _share_of_track(tree: StageTree, track: int, waits: Intervals) -> list[tuple[str, Intervals]]:
    """Divides waiting time by the deepest stage that the row was in; time in a wait span itself is `other`."""
    start, end, node = stage_pieces(tree, track)
    touched = np.flatnonzero(waits.overlap(start, end) > 0)
    start, end, node = start[touched], end[touched], node[touched]
    pieces: dict[str, list[Intervals]] = {}
    for number, rows in groups(node, np.arange(len(node))):
        stage = tree.paths[number][-1]
        if stage.kind != "wait":
            pieces.setdefault(stage.name, []).append(Intervals.union(start[rows], end[rows]))
    parts = [(name, waits.intersect(Intervals.union_of(sets))) for name, sets in sorted(pieces.items())]
    return [*parts, (OTHER, waits.minus(Intervals.union_of(part for _, part in parts)))]


def _totals(by_stage: dict[str, Intervals]) -> dict[str, int]:
    return {name: waits.total_ns for name, waits in by_stage.items() if waits.total_ns}


def _attribute_device(device: DeviceIdle, idle: IdleCauses, by_stage: dict[str, Intervals]) -> DeviceAttribution:
    gaps, waited = device.gaps, idle.causes.get("data_wait", EMPTY)
    shares = _shares_of_gaps(gaps, {name: stage.intersect(waited) for name, stage in by_stage.items()})
    return DeviceAttribution(
        device=device.device,
        causes=idle.causes,
        by_stage_ns=shares.by_stage_ns,
        gap_causes_ns=idle.per_gap(gaps),
        gap_stage=shares.largest,
        gap_ends=idle.ends,
        unlaunched=idle.unlaunched,
        queued_ns=idle.queued_ns,
    )


@dataclass(frozen=True, slots=True)
class _GapShares:
    """`largest`: per gap, the stage that has most of its data wait, "" where it has none."""

    by_stage_ns: dict[str, int]
    largest: tuple[str, ...]


def _shares_of_gaps(gaps: Intervals, waited: Mapping[str, Intervals]) -> _GapShares:
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
    order = np.lexsort((-stage, total, gap))  # of equals the first stage counts, as the last of its gap
    largest = [""] * len(gaps)
    for row in order.tolist():
        largest[int(gap[row])] = names[int(stage[row])]
    summed = {name: waited[name].total_ns for name in names}
    return _GapShares({name: time for name, time in summed.items() if time}, tuple(largest))
