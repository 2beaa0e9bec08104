"""What the first finding before had promised at most, beside what a step takes less now."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration


def promise(before: Sequence[pb.Capture], after: Sequence[pb.Capture]) -> tuple[Evidence, ...]:
    """Empty where steps are not of as many samples on both sides, got no shorter, or no finding had a gain."""
    captures = (*before, *after)
    sizes = {capture.loader.batch_size for capture in captures if capture.loader.HasField("batch_size")}
    found = next((one for one in before[-1].findings if one.HasField("gain_us_per_step")), None) if before else None
    if found is None or len(sizes) != 1 or not all(capture.HasField("steps") for capture in captures):
        return ()
    old, new = (fmean(capture.steps.mean_us for capture in side) for side in (before, after))
    if new >= old:
        return ()
    text = (
        f"a step takes {duration(old - new)} less ({duration(old)} before, {duration(new)} after); the first finding "
        f"before ({found.title}) promised up to {duration(found.gain_us_per_step)}"
    )
    return (time("promise", old - new, text, whole="step"),)
