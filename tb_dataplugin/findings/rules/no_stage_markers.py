"""The run waits for data, and the trace does not show for which stage."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.analyses.wait_parts import UNRECORDED
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.rules import unannotated_loader
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MOSTLY_UNRECORDED

CODE: Final = """import annotate

loader = annotate.loader(loader)
with annotate.profile("runs/exp1") as prof:
    for batch in prof.steps(loader): ..."""

EARLIER: Final = """with annotate.profile("runs/exp1") as prof:  # before iter(loader) starts the workers
    for epoch in range(epochs):
        for batch in prof.steps(loader): ..."""

NOTHING: Final = (
    "Annotate the loader and capture again: the report then shows read, decode, each transform and collate."
)

UNDER_OWN: Final = (
    "Call annotate.auto() once, before the loop, and capture again with the same profiler: the trace then has the "
    "stages too, and the report shows read, decode, each transform and collate."
)

UNDER_OWN_CODE: Final = """import annotate

annotate.auto()  # before the loop: every DataLoader that is iterated from now on"""

UNKNOWN: Final = (
    "The loop may iterate another DataLoader, which is not annotated. Annotate it too, or call annotate.auto() before "
    "the loop, which follows all DataLoaders, and capture again."
)


@rule(title="No stage data", about="capture", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    unrecorded = signals.wait_for(UNRECORDED)
    if signals.waits_by_stage is not None and (unrecorded is None or unrecorded.share < MOSTLY_UNRECORDED):
        return None
    what, advice, code = _missing(signals)
    return Finding(
        severity="medium",
        title=f"The run waits for data, {what}",
        advice=advice,
        evidence=signals.wait_cost_evidence(),
        code=code,
    )


def _missing(signals: Signals) -> tuple[str, str, str]:
    """What the capture lacks, what to do, and code for it."""
    late = next((doubt for doubt in signals.doubts if doubt.code == "late_workers"), None)
    if late is not None:
        return "but its DataLoader workers left no records", late.sentence, EARLIER
    if any(row.stage.kind in BUILDING for row in signals.stages):
        return "but most of that wait has no record of who built the batch", UNKNOWN, unannotated_loader.CODE
    is_plain = signals.mode == "unannotated"  # of the user's own profiler
    how = (UNDER_OWN, UNDER_OWN_CODE) if is_plain else (NOTHING, CODE)
    return "but this capture has no stage data", *how
