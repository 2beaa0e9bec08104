"""The workers run out of work between the waits: a deeper queue would let them work ahead."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_STARVED
from tb_dataplugin.units import duration, percent

RULE = "prefetch_too_shallow"


def check(signals: Signals) -> Finding | Abstention | None:
    if not signals.makes_batches_in_workers or signals.loader is None or signals.felt_us is None:
        return None
    steady = signals.felt_us - signals.waits_at_epoch_start_us
    share, flow = signals.share(steady), signals.evidence.flow.workers
    if share is None or share < INPUT_BOUND:
        return None
    if flow is None:
        return Abstention(RULE, "the workers left no records, so whether they ran out of work is unknown")
    if flow.starved < WORKERS_STARVED:
        return None
    factor = signals.loader.prefetch_factor or 2
    gain = signals.per_step(min(steady, flow.starved * signals.window_us))
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=steady),
        title=f"DataLoader workers have nothing to do for {percent(flow.starved)} of the window, yet batches come late",
        advice="Batches take different times, and the queue is too short to even that out: let the workers run further "
        "ahead. Each batch more per worker needs its memory.",
        evidence=(
            f"prefetch_factor={factor}, num_workers={signals.num_workers}",
            f"{duration(steady)} of wait apart from epoch starts",
        ),
        gain_us_per_step=gain,
        code=f"DataLoader(..., prefetch_factor={2 * factor})",
        confidence="likely",
        confidence_reason="it helps as far as slow batches are followed by fast ones",
    )
