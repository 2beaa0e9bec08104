"""Batches lie ready while the training thread waits for an earlier one, and their workers have nothing to do meanwhile.

Some later batch nearly always lies ready while workers take turns. Taking it first only helps as far as workers stand
still because of it: a worker that is busy all the time cannot make more.
"""

from __future__ import annotations

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEAD_OF_LINE, INPUT_BOUND, WORKERS_STARVED
from tb_dataplugin.units import duration, percent

RULE = "head_of_line"


def check(signals: Signals) -> Finding | Abstention | None:
    if not signals.makes_batches_in_workers or not signals.is_input_bound(INPUT_BOUND) or not signals.felt_us:
        return None
    flow = signals.evidence.flow.workers
    if flow is None:
        return Abstention(RULE, "the workers left no records, so when batches were ready is unknown")
    share = signals.head_of_line_us / signals.felt_us
    if share < HEAD_OF_LINE or flow.starved < WORKERS_STARVED:
        return None
    if signals.loader is not None and signals.loader.in_order is False:
        return None
    lost = min(signals.head_of_line_us, flow.starved * signals.window_us)
    gain = signals.per_step(lost)
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=lost),
        title=f"For {percent(share)} of the wait a later batch lay ready behind an earlier one",
        advice="If the order of batches does not matter, take whichever is ready first (torch 2.6 or later). Runs are "
        "then no longer reproducible batch by batch. See also which samples are slow.",
        evidence=(
            f"{duration(signals.head_of_line_us)} of {duration(signals.felt_us)}",
            f"workers have no index to work on for {percent(flow.starved)} of the window",
        ),
        gain_us_per_step=gain,
        code="DataLoader(..., in_order=False)",
        confidence="likely",
        confidence_reason="it helps as far as the workers that stand still do so because the queue is full",
    )
