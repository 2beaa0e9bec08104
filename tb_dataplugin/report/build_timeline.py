"""The picture of a slice of a timeline as a message: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.build_units import us
from tb_dataplugin.timeline.encoding import LaneColumns, LineColumns, encode_slice, rounded
from tb_dataplugin.timeline.lanes import TimelineSource


def slice_timeline(source: TimelineSource, start_us: float, end_us: float, width: int) -> pb.Timeline:
    """The slice ``[start_us, end_us)`` for `width` pixels."""
    shown = encode_slice(source, start_us, end_us, width)
    return pb.Timeline(
        start_us=us(shown.window.start_ns),
        end_us=us(shown.window.end_ns),
        window_start_us=us(source.window.start_ns),
        window_end_us=us(source.window.end_ns),
        lanes=map(_lane, shown.lanes),
        names=(label.text for label in shown.labels),
        colors=(label.token for label in shown.labels),
    )


def _lane(lane: LaneColumns) -> pb.Lane:
    source, owner, boxes = lane.source, lane.source.owner, lane.boxes
    return pb.Lane(
        id=source.id,
        kind=source.kind,
        title=lane.title,
        boxes=boxes.counts,
        start_ns=boxes.start_ns,
        duration_ns=boxes.duration_ns,
        name=boxes.label,
        merged=boxes.merged,
        covered=boxes.covered,
        index=boxes.index,
        lines=map(_line, lane.lines),
        unit=source.unit,
        top=rounded(source.top) if source.lines else None,  # as its values are: none is above it
        worker=owner.worker,
        loader=owner.loader,
        device=owner.device,
        training_thread=owner.training_thread,
        loader_title=owner.loader_title,
    )


def _line(line: LineColumns) -> pb.CounterLine:
    return pb.CounterLine(name=line.name, time_ns=line.time_ns, mean=line.mean, low=line.low, high=line.high)
