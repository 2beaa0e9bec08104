"""The longest idle gaps as text: a line for each, with its causes and what led to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.paragraphs import heading, noted
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, duration, in_unit, percent, unit_for
from tb_dataplugin.words import cause_label

MAX_GAPS: Final = 5

LEAST_CAUSE: Final = 0.1
"""Part of a gap: what has less is not a cause that its line says, nor where that leads back to."""


def gap_lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    for device in capture.devices:
        gaps = device.gaps[:MAX_GAPS]
        if not gaps:
            continue
        unit = unit_for(gap.duration_us for gap in gaps)
        start = "start: from the first event besides the profiler's span"
        yield from heading(f"Longest idle gaps of device {device.id} ({unit.name}; {start})", style)
        yield f"  {'start':>12}{'length':>10}{'step':>7}  cause"
        for gap in gaps:
            step = str(gap.step) if gap.HasField("step") else UNKNOWN
            start = f"{gap.start_us / unit.us:,.1f}"  # to be looked up in a viewer of traces
            numbers = f"  {start:>12}{in_unit(gap.duration_us, unit):>10}{step:>7}  "
            yield from noted(numbers, ", ".join((*_gap_causes(gap), *_gap_origin(gap))))


def _gap_causes(gap: pb.Gap) -> Iterator[str]:
    """The causes of at least a tenth of the gap, the largest first."""
    causes = {cause.name: time for cause, time in gap.idle_by_cause_us.ListFields()}
    for cause, time in sorted(causes.items(), key=lambda part: -part[1]):
        if time >= LEAST_CAUSE * gap.duration_us:
            detail = _stage_of(gap) if cause == "data_wait" else _queued(gap) if cause == "launch" else ""
            yield f"{cause_label(cause)} {percent(_share(time, gap.duration_us))}{detail}"


def _stage_of(gap: pb.Gap) -> str:
    """The stage with the largest part of the gap's data wait, and that part."""
    share = _share(gap.stage_us, gap.idle_by_cause_us.data_wait)
    return f" ({percent(share)} of it for {gap.stage})" if gap.stage else ""


def _queued(gap: pb.Gap) -> str:
    launch_us = gap.idle_by_cause_us.launch
    if gap.queued_us >= (1 - LEAST_CAUSE) * launch_us:
        return " (launched already, not started yet)"
    if gap.queued_us >= LEAST_CAUSE * launch_us:
        return f" ({percent(gap.queued_us / launch_us)} of it launched already, not started yet)"
    return ""


def _gap_origin(gap: pb.Gap) -> Iterator[str]:
    chain = gap.chain
    if gap.stage and gap.idle_by_cause_us.data_wait >= LEAST_CAUSE * gap.duration_us:
        yield from _batch_of(chain)
    if chain.HasField("operator"):
        yield f"host in {chain.operator.name} for {_of_gap(chain.operator, gap)}"
    if chain.HasField("call"):
        yield f"runtime call {chain.call.name} for {_of_gap(chain.call, gap)}"


def _of_gap(link: pb.Link, gap: pb.Gap) -> str:
    """``100% of the gap (10.8 s in all)``: it may begin before the gap, and end after it."""
    end_us = min(link.start_us + link.duration_us, gap.start_us + gap.duration_us)
    share = _share(end_us - max(link.start_us, gap.start_us), gap.duration_us)
    return f"{percent(share)} of the gap ({duration(link.duration_us)} in all)"


def _batch_of(chain: pb.Chain) -> Iterator[str]:
    """Of the batch that was waited for."""
    if chain.HasField("batch_number"):
        yield f"batch {chain.batch_number}"
    if chain.HasField("worker"):
        yield f"DataLoader worker {chain.worker}"
    if chain.in_queue_us:
        yield f"in the queue for {duration(chain.in_queue_us)} before the data wait"
    if chain.HasField("sample_index"):
        took = f", {duration(chain.sample.duration_us)} long" if chain.HasField("sample") else ""
        yield f"sample {chain.sample_index}{took}{_first_file(chain.files)}"


def _first_file(files: Sequence[str]) -> str:
    if not files:
        return ""
    return f" ({files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''})"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
