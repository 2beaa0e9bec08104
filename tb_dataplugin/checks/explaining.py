"""What is said of captures that miss a budget: the limiting stage, the line in it, and the file to open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.units import percent


def explain(captures: Sequence[Capture]) -> Iterator[str]:
    """Lines about the capture with the most data wait."""
    worst = max(captures, key=lambda capture: capture.loader.wait_us, default=None)
    if worst is None:
        return
    stage = limiting_stage(worst)
    if stage:
        share = worst.loader.wait_by_stage_us[stage] / worst.loader.wait_us
        yield f"limited by: {stage}, which caused {percent(share)} of the data wait"
    else:
        yield f"limited by: {worst.verdict.sentence}"
    line = _line_of(worst, stage)
    if line:
        yield f"line: {line}"
    yield f"capture: {worst.file} (open it with tb-dataplugin report)"


def limiting_stage(capture: Capture) -> str:
    """The stage that caused most of the data wait; "" where that is not known."""
    waits = capture.loader.wait_by_stage_us
    return max(waits, key=lambda name: waits[name]) if waits and capture.loader.wait_us else ""


def _line_of(capture: Capture, stage: str) -> str:
    """The hottest line in a stage, else where the stage is defined."""
    for part in capture.lines.stages:
        if part.name == stage and part.hottest:
            hottest = part.hottest[0]
            return f"{hottest.place} in {hottest.function}, {percent(hottest.share)} of the stage by stack samples"
    return next((row.defined_at for row in capture.stages if f"{row.kind}::{row.label}" == stage), "")
