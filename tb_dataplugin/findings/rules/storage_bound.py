"""The workers wait for storage, and storage is busy all the time: more of them would wait for the same disk."""

from __future__ import annotations

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.capacity import find_storage, reads_from_storage
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_BUSY
from tb_dataplugin.units import percent

RULE = "storage_bound"


def check(signals: Signals) -> Finding | None:
    flow, costs = signals.evidence.flow.workers, signals.evidence.costs
    if not signals.makes_batches_in_workers or flow is None or isinstance(costs, Unavailable):
        return None
    if not signals.is_input_bound(INPUT_BOUND) or flow.busy < WORKERS_BUSY or not reads_from_storage(signals):
        return None
    storage = find_storage(signals)
    if not storage.saturated or costs.waiting is None or costs.cached is None:
        return None
    return Finding(
        rule=RULE,
        severity="medium",
        title="More DataLoader workers will not help: the disk that they read from is busy all the time",
        advice="Read less, or from elsewhere: keep the data on a faster disk or in memory, pack small files into large "
        "ones that are read in order, or store samples smaller (resized, compressed).",
        evidence=(
            *storage.evidence,
            f"making batches is waiting for {percent(costs.waiting)} of the time",
            f"{percent(1 - costs.cached)} of the bytes read came from storage",
        ),
        confidence="likely",
        confidence_reason="a disk that serves several requests at once may be busy and still have more to give",
    )
