"""One worker works much longer than the others."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import number, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import LEAST_BATCHES, UNEVEN
from tb_dataplugin.units import percent, ratio, significant


@rule(title="Uneven DataLoader workers", about="delivery", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    workers, cost = signals.workers, signals.wait_cost_us
    if workers is None or workers.workers < 2 or cost is None or workers.skew < UNEVEN:
        return None
    if workers.batches < LEAST_BATCHES:
        return Abstention(
            f"Each DataLoader worker finished {significant(workers.batches, 1)} batches in the window on average, too "
            "few to distinguish a slow worker from a slow batch."
        )
    gain = signals.per_step(min(cost, workers.busy * signals.own_window_us * (workers.skew - 1)))
    busy = f"the DataLoader workers are busy for {percent(workers.busy)} {workers.of_whole} on average"
    skew = f"{ratio(workers.skew)} the mean busy time"
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"DataLoader worker {workers.slowest} is busy {ratio(workers.skew)} as long as the average",
        advice="Batches go to the DataLoader workers in turn, so one slow worker holds back all. Look at its samples "
        "and at what else runs on its CPU; with in_order=False the others need not wait for it.",
        evidence=(
            number("worker_skew", workers.skew, "ratio", skew),
            share("workers_busy", workers.busy, workers.whole, busy),
        ),
        gain_us_per_step=gain,
        code="DataLoader(..., in_order=False)  # torch 2.6 or later",
        confidence="likely",
        confidence_reason="In a short window it may have had the slow samples by chance.",
    )
