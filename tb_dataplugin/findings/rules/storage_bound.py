"""The workers are blocked by storage that is busy all the time: more of them would wait for the same disk."""

from __future__ import annotations

from tb_dataplugin.findings.capacity import judge_storage, reads_from_storage
from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WORKERS_BUSY
from tb_dataplugin.units import percent


@rule(title="Busy storage", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    workers, costs = signals.workers, signals.costs
    if workers is None or costs is None or workers.busy < WORKERS_BUSY or not reads_from_storage(signals):
        return None
    storage = judge_storage(signals)
    if not storage.saturated or costs.blocked is None or costs.cached is None:
        return None
    blocked = f"DataLoader workers are blocked for {percent(costs.blocked)} of the build time"
    from_storage = f"{percent(1 - costs.cached)} of the bytes read came from storage"
    return Finding(
        severity="medium",
        title="More DataLoader workers will not help: the disk that they read from is busy all the time",
        advice="Read less, or from elsewhere: keep the data on a faster disk or in memory, pack small files into large "
        "ones that are read in order, or store samples smaller (resized, compressed).",
        evidence=(
            *storage.evidence,
            share("blocked", costs.blocked, "build time", blocked),
            share("from_storage", 1 - costs.cached, "bytes read", from_storage),
        ),
        confidence="likely",
        confidence_reason="A disk that serves several requests at once may be busy and still have more to give.",
    )
