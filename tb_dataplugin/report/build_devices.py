"""The part of the report about devices and their idle gaps: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_dataplugin.analyses.attribution import Attribution, DeviceAttribution
from tb_dataplugin.analyses.chains import Chain, ChainFinder, Span
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.idle_causes import CAUSES, Cause
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.diagnostics import Diagnostic, Unavailable
from tb_dataplugin.model.intervals import EMPTY, Int64Array
from tb_dataplugin.model.trace import UNKNOWN_NS
from tb_dataplugin.report import report_pb2 as pb

CausesNs = Mapping[Cause, Sequence[int] | Int64Array]


def device_report(
    device: DeviceIdle, blamed: DeviceAttribution, finder: ChainFinder, steps: Steps | Unavailable, most_gaps: int
) -> pb.Device:
    """`most_gaps`: how many gaps are listed, the largest first."""
    return pb.Device(
        id=device.device,
        name=device.name,
        busy_us=device.busy.total_ns / 1e3,
        kernel_busy_us=None if device.kernel_busy_ns is None else device.kernel_busy_ns / 1e3,
        idle_us=device.gaps.total_ns / 1e3,
        gap_count=len(device.gaps),
        longest_gap_us=int(device.gaps.durations.max(initial=0)) / 1e3,
        idle_by_cause_us=pb.IdleByCause(**{cause: time / 1e3 for cause, time in blamed.by_cause_ns.items()}),
        idle_by_stage_us={stage: time / 1e3 for stage, time in blamed.by_stage_ns.items()},
        idle_queued_us=blamed.queued_ns / 1e3 if (blamed.gap_ends.launch >= 0).any() else None,
        gaps=_gaps(device, blamed, finder, steps, most_gaps),
    )


def idle_by_cause(attribution: Attribution, steps: Steps) -> dict[Cause, list[int]]:
    """Idle time (ns) of the first device by cause, per step; empty without a device."""
    if not attribution.devices:
        return {}
    causes = attribution.devices[0].causes
    return {cause: time.overlap(steps.start_ns, steps.end_ns).tolist() for cause, time in causes.items()}


def causes_at(causes: CausesNs, row: int) -> pb.IdleByCause:
    return pb.IdleByCause(**{cause: int(time[row]) / 1e3 for cause, time in causes.items()})


def _gaps(
    device: DeviceIdle, blamed: DeviceAttribution, finder: ChainFinder, steps: Steps | Unavailable, most: int
) -> Iterator[pb.Gap]:
    gaps, causes = device.gaps, blamed.gap_causes_ns
    waits = EMPTY if isinstance(finder.loader, Unavailable) else finder.loader.waits
    waited = waits.overlap(gaps.start, gaps.end)
    lanes = _lanes(finder)
    order = np.lexsort((gaps.start, -gaps.durations))[:most]
    for i in order.tolist():
        start = int(gaps.start[i])
        yield pb.Gap(
            start_us=start / 1e3,
            duration_us=(int(gaps.end[i]) - start) / 1e3,
            cause=max((cause for cause in CAUSES if cause in causes), key=lambda cause: int(causes[cause][i])),
            stage=blamed.gap_stage[i],
            step=None if isinstance(steps, Unavailable) else _step_at(steps, start),
            exposed_wait_us=int(waited[i]) / 1e3 if "data_wait" in causes else None,
            idle_by_cause_us=causes_at(causes, i),
            chain=_chain(finder, lanes, i),
        )


def _step_at(steps: Steps, time_ns: int) -> int | None:
    i = int(np.searchsorted(steps.start_ns, time_ns, side="right")) - 1
    return int(steps.number[i]) if i >= 0 and time_ns < steps.end_ns[i] else None


def _chain(finder: ChainFinder, lanes: Mapping[int, str], gap: int) -> pb.Chain | None:
    found = finder.of_gap(gap)
    if found == Chain():
        return None
    chain = pb.Chain(
        launch=_link(found.launch, lanes),
        wait=_link(found.wait, lanes),
        sample=_link(found.sample, lanes),
        sample_index=found.index if found.index >= 0 else None,
        stage=_link(found.stage, lanes),
    )
    if found.batch is not None and not isinstance(finder.workers, Unavailable):
        chain.MergeFrom(_batch(finder.workers.batches, found.batch))
    return chain


def _link(span: Span | None, lanes: Mapping[int, str]) -> pb.Link | None:
    if span is None:
        return None
    lane = "" if span.track is None else lanes.get(span.track, "")
    return pb.Link(name=span.name, start_us=span.start_ns / 1e3, duration_us=span.duration_ns / 1e3, lane=lane)


def _batch(batches: BatchTimes, row: int) -> pb.Chain:
    table = batches.table
    number, start, end = int(table.number[row]), int(table.started_ns[row]), int(table.finished_ns[row])
    made = None
    if UNKNOWN_NS not in (start, end):
        name = f"batch {number}" if number >= 0 else "batch"
        lane = f"worker:{int(table.pid[row])}"
        made = pb.Link(name=name, start_us=start / 1e3, duration_us=(end - start) / 1e3, lane=lane)
    return pb.Chain(
        batch=made,
        batch_number=number if number >= 0 else None,
        epoch=int(table.epoch[row]),
        loader=int(table.loader[row]),
        worker=int(table.worker[row]),
    )


def _lanes(finder: ChainFinder) -> dict[int, str]:
    """Row of the trace -> id of the timeline's lane that shows it, for the rows that have stages."""
    workers = finder.trace.worker_tracks()
    tracks = np.unique(finder.tree.track).tolist()
    return {track: f"worker:{workers[track].pid}" if track in workers else f"thread:{track}" for track in tracks}


def device_diagnostics(devices: Sequence[DeviceAttribution]) -> Iterator[Diagnostic]:
    """What the causes of idle time could not be told by."""
    if not devices:
        return
    if "launch" not in devices[0].causes:
        message = (
            "No runtime calls of the host were recorded, so the causes of idle time beside the data wait are unknown: "
            "profile with ProfilerActivity.CPU as well"
        )
        yield Diagnostic("device", "no_host_activity", 1, message)
        return
    unlaunched = sum(device.unlaunched for device in devices)
    if unlaunched:
        message = (
            "The launch of what ended a gap is not in the trace; such gaps are judged by what the training thread did "
            "during them"
        )
        yield Diagnostic("device", "launch_not_recorded", unlaunched, message)
