"""Not data: Python's garbage collector takes a good part of what the training thread does outside the data wait."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.collecting import FREEZE
from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import until_workers_limit
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_work import outside_wait
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import duration, percent, plural

ADVICE: Final = (
    "It runs whenever enough objects have been made. Call gc.freeze() once model and dataset are built, so that it has "
    "fewer objects to scan, or gc.collect() where a pause does not matter."
)
RARE: Final = (
    "How often a full collection comes in the long run, and so what it costs per step, few of them do not show."
)


@rule(title="Garbage collection in the training step", about="host")
def check(signals: Signals) -> Finding | None:
    """Where a line of the step collects, `slow_step_line` names it."""
    spent, full = signals.garbage.step_us, signals.garbage.full
    part = signals.share(spent)
    calls_it = signals.step is not None and any(line.work == "collecting" for line in signals.step.lines)
    if spent is None or part is None or part < INPUT_BOUND or calls_it:
        return None
    is_habit = full.count > 0 and not full.are_few
    saving = until_workers_limit(signals, spent)
    gain = signals.per_step(saving.us) if is_habit else None
    known = f", in {plural(full.count, 'full collection')}" if full.count else ""
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"Python's garbage collector takes {percent(part)} of the window ({duration(spent)})"
        + outside_wait(signals),
        advice=ADVICE,
        evidence=(share("collecting", part, "window", f"{duration(spent)} in the training thread{known}"), *saving.why),
        gain_us_per_step=gain,
        code=FREEZE,
        confidence="measured" if is_habit else "possible",
        confidence_reason="" if is_habit else RARE,
    )
