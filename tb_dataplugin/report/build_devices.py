"""The part of the report about devices and their idle gaps: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tb_dataplugin.analyses.chains import Chain, Span
from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.gaps import Gap
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings import Sentences
from tb_dataplugin.limits import MOST_LABEL
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_limits import limited_by
from tb_dataplugin.report.build_units import maybe_us, us
from tb_dataplugin.timeline.calls import call_lane_ids
from tb_dataplugin.timeline.lanes import lane_ids, worker_lane_id

LaneIds = Mapping[int, str]
"""Row of the trace -> id of the lane that shows it."""


class _Lanes(NamedTuple):
    """Where stages are shown, and where calls are."""

    stages: LaneIds
    calls: LaneIds


def device_reports(results: Results, sentences: Sentences) -> Iterator[pb.Device]:
    lanes = _Lanes(lane_ids(results.trace, results.tree), call_lane_ids(results))
    columns = zip(
        results.devices, results.attribution.devices, results.gaps, results.copies, sentences.devices, strict=True
    )
    for number, (device, attributed, gaps, copies, sentence) in enumerate(columns):
        limited = results.limits.devices[number] if results.limits else {}
        yield pb.Device(
            id=device.device,
            name=device.name,
            busy_us=us(device.busy.total_ns),
            kernel_busy_us=maybe_us(device.kernel_busy_ns),
            idle_us=us(device.gaps.total_ns),
            gap_count=len(device.gaps),
            longest_gap_us=us(device.longest_gap_ns),
            idle_by_cause_us=idle_by_cause(attributed.by_cause_ns),
            idle_by_stage_us={stage: us(time) for stage, time in attributed.by_stage_ns.items()},
            idle_queued_us=us(attributed.queued_ns) if attributed.has_launches else None,
            gaps=(_gap(gap, lanes) for gap in gaps),
            h2d=_copies(copies) if copies else None,
            sentence=sentence,
            idle_note=device.reserve,
            limited_by_us={cause: limited_by(limits) for cause, limits in limited.items()},
        )


def idle_by_cause(times_ns: Mapping[Cause, int]) -> pb.IdleByCause:
    return pb.IdleByCause(**{cause: us(time) for cause, time in times_ns.items()})


def _gap(gap: Gap, lanes: _Lanes) -> pb.Gap:
    return pb.Gap(
        start_us=us(gap.start_ns),
        duration_us=us(gap.duration_ns),
        cause=gap.cause,
        stage=gap.stage,
        stage_us=us(gap.stage_ns),
        step=gap.step,
        exposed_wait_us=maybe_us(gap.exposed_wait_ns),
        idle_by_cause_us=idle_by_cause(gap.by_cause_ns),
        queued_us=us(gap.queued_ns),
        chain=None if gap.chain == Chain() else _chain(gap.chain, lanes),
    )


def _chain(chain: Chain, lanes: _Lanes) -> pb.Chain:
    report = pb.Chain(
        launch=_link(chain.launch, lanes.calls),
        wait=_link(chain.wait, lanes.stages),
        sample=_link(chain.sample, lanes.stages),
        sample_index=chain.index if chain.index >= 0 else None,
        files=chain.files,
        stage=_link(chain.stage, lanes.stages),
        operator=_link(chain.operator, lanes.calls),
        call=_link(chain.call, lanes.calls),
    )
    batch = chain.batch
    if batch is not None:
        report.MergeFrom(
            pb.Chain(
                batch=_span(batch.span, worker_lane_id(batch.loader, batch.worker)) if batch.span else None,
                batch_number=batch.number if batch.number >= 0 else None,
                epoch=batch.epoch,
                loader=batch.loader,
                worker=batch.worker,
                in_queue_us=maybe_us(batch.in_queue_ns),
            )
        )
    return report


def _link(span: Span | None, lanes: LaneIds) -> pb.Link | None:
    if span is None:
        return None
    return _span(span, "" if span.track is None else lanes.get(span.track, ""))


def _span(span: Span, lane: str) -> pb.Link:
    return pb.Link(name=span.name[:MOST_LABEL], start_us=us(span.start_ns), duration_us=us(span.duration_ns), lane=lane)


def _copies(copies: CopyFigures) -> pb.Copies:
    return pb.Copies(
        count=copies.count,
        pageable=copies.pageable,
        pinned=copies.pinned,
        launched=copies.launched,
        blocking=copies.blocking if copies.launched else None,
        copy_us=us(copies.copy_ns),
        overlapped_us=maybe_us(copies.overlapped_ns),
        host_us=us(copies.host_ns) if copies.launched else None,
        bytes=copies.bytes,
        gb_per_s=copies.gigabytes_per_s,
    )
