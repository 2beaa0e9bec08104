"""The run waits for data, and the trace cannot say for which stage."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import percent


def check(signals: Signals) -> Finding | None:
    if signals.blamed is not None or not signals.is_input_bound(INPUT_BOUND):
        return None
    return Finding(
        rule="no_stage_markers",
        severity="medium",
        title="The run waits for data, but the trace does not say for which stage",
        advice="Capture a zero-worker replay of the same loader: it shows read, decode, each transform and collate.",
        evidence=(f"{percent(signals.share(signals.felt_us))} of the window waits for data; no stage markers in it",),
        code="import annotate\nannotate.replay(loader, 'runs/replay', batches=16)",
    )
