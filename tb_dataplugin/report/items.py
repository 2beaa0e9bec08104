"""What a report counts: samples, where they are known."""

from __future__ import annotations

from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import plural_of


def items(item: str) -> str:
    """``"batches"``. `item`: as in Throughput."""
    return plural_of(item or "sample")


def knows_samples(capture: pb.Capture) -> bool:
    """Whether its rates are of samples: those of batches say nothing beside other captures' samples."""
    return capture.throughput.HasField("samples") and capture.throughput.item != "batch"
