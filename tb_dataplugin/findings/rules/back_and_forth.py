"""Images go from PIL to numbers and back within a sample."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import PatternSignal, interval
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import percent

CODE = """image = v2.functional.pil_to_tensor(image)  # once; transforms.v2 work on tensors
image = v2.functional.resize(image, size)"""


@rule(title="Conversions back and forth", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    """Both ways are taken, and take a part of the time in all stages that is worth a change."""
    ways = [each for each in signals.patterns if not each.stage and each.pattern in ("to_array", "to_image")]
    together = sum(each.part.low for each in ways)
    if len(ways) < 2 or together < INPUT_BOUND or signals.wait_cost_us is None:
        return None
    part = sum(each.part.share for each in ways)
    gain = signals.per_step(signals.wait_cost_us * part) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=signals.wait_cost_us * part),
        title=f"{percent(part)} of the time in all stages converts images from PIL to numbers and back",
        advice="Stay in one form: decode to a tensor or an array once, and use transforms that take it "
        "(torchvision.transforms.v2, albumentations).",
        evidence=tuple(map(_evidence, ways)),
        gain_us_per_step=gain,
        code=CODE,
        confidence="possible",
        confidence_reason="One conversion is needed, so not all of this time can go.",
    )


def _evidence(way: PatternSignal) -> Evidence:
    words = "from PIL" if way.pattern == "to_array" else "to PIL"
    text = f"{words}, {way.text}: {percent(way.part.share)} of the time in all stages, {interval(way.part)}"
    return share("hot_line", way.part.share, "all stages", text)
