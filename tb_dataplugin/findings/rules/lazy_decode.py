"""A transform seems slow because PIL decodes lazily inside it."""

from __future__ import annotations

from tb_dataplugin.analyses.stages import Path, StageRow
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIDDEN_DECODE, INPUT_BOUND
from tb_dataplugin.units import duration, percent, plural


def check(signals: Signals) -> Finding | None:
    if not signals.is_input_bound(INPUT_BOUND):
        return None
    totals = {row.path: row.total_ns for row in signals.rows}
    hidden = [row for row in signals.rows if _is_hidden(row, totals)]
    if not hidden:
        return None
    worst = max(hidden, key=lambda row: row.total_ns)
    transform, whole = worst.path[-2], totals[worst.path[:-1]]
    share, calls = worst.total_ns / whole, plural(worst.count, "call")
    return Finding(
        rule="lazy_decode",
        severity="low",
        title=f"{percent(share)} of {transform.name} is decoding, not {transform.label}",
        advice=f"PIL decodes when pixels are first asked for, here inside {transform.label}. Replacing "
        f"{transform.label} would gain only the rest; a faster or smaller decode gains the decode.",
        stage=worst.stage.name,
        evidence=(f"{duration(worst.total_ns / 1e3)} of {duration(whole / 1e3)} in {calls}",),
        code="image = Image.open(file)\nimage.draft('RGB', (width, height))  # JPEG: decodes at the next smaller scale",
    )


def _is_hidden(row: StageRow, totals: dict[Path, int]) -> bool:
    if row.stage.kind != "decode" or len(row.path) < 2 or row.path[-2].kind != "transform":
        return False
    return row.total_ns >= HIDDEN_DECODE * totals.get(row.path[:-1], row.total_ns + 1)
