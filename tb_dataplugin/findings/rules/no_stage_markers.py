"""The run waits for data, and the trace does not show for which stage."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals

CODE = """import annotate

loader = annotate.loader(loader)
with annotate.profile('runs/exp') as prof:
    for batch in prof.steps(loader): ..."""


@rule(title="No stage data", about="capture", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    if signals.waits_by_stage is not None:
        return None
    return Finding(
        severity="medium",
        title="The run waits for data, but this capture has no stage data",
        advice="Annotate the loader and capture again: the report then shows read, decode, each transform and collate.",
        evidence=signals.wait_cost_evidence(),
        code=CODE,
    )
