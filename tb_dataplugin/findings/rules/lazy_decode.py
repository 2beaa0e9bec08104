"""A transform seems slow because PIL decodes lazily inside it."""

from __future__ import annotations

from collections.abc import Mapping

from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.findings.decoder_advice import have_no_jpeg
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HIDDEN_DECODE
from tb_dataplugin.units import duration, percent, plural

CODE = "image = Image.open(file)\nimage.draft('RGB', (width, height))  # JPEG: decodes at the next smaller scale"


@rule(title="Decoding inside a transform", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    totals = {calls.path: calls.total_us for calls in signals.stages}
    hidden = [calls for calls in signals.stages if _is_hidden(calls, totals)]
    if not hidden:
        return None
    worst = max(hidden, key=lambda calls: calls.total_us)
    transform, whole = worst.path[-2], totals[worst.path[:-1]]
    is_pil = worst.stage.label.startswith("PIL")
    how = "PIL decodes when pixels are first needed, here" if is_pil else f"{worst.stage.label} is called"
    text = f"{duration(worst.total_us)} of {duration(whole)} in {plural(worst.count, 'call')}"
    return Finding(
        severity="low",
        title=f"{percent(worst.total_us / whole)} of {transform.name} is decoding, not {transform.label}",
        advice=f"{how} inside {transform.label}. Replacing {transform.label} would save only the rest; for this part, "
        "decode faster or decode less.",
        stage=worst.stage.name,
        evidence=(time("decode_time", worst.total_us, text, whole=transform.name, stage=worst.stage.name),),
        code=CODE if is_pil and not have_no_jpeg(signals.slow_files) else "",
    )


def _is_hidden(calls: StageCalls, totals: Mapping[Path, float]) -> bool:
    if calls.stage.kind != "decode" or len(calls.path) < 2 or calls.path[-2].kind != "transform":
        return False
    return calls.total_us >= HIDDEN_DECODE * totals.get(calls.path[:-1], calls.total_us + 1)
