"""The run waits for data, and the trace cannot say for which stage."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND


def check(signals: Signals) -> Finding | None:
    if signals.blamed is not None or not signals.is_input_bound(INPUT_BOUND):
        return None
    return Finding(
        rule="no_stage_markers",
        severity="medium",
        title="The run waits for data, but the trace does not say for which stage",
        advice="Annotate the loader and capture again: the report then shows read, decode, each transform and collate.",
        evidence=(signals.felt_words,),
        code="import annotate\n\nloader = annotate.loader(loader)\n"
        "with annotate.profile('runs/exp') as prof:\n    for batch in prof.steps(loader): ...",
    )
