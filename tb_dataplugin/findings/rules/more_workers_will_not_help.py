"""The workers are busy and no CPU is free: another worker would only share them."""

from __future__ import annotations

from tb_dataplugin.findings.capacity import judge_cpus
from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WORKERS_BUSY
from tb_dataplugin.units import percent, plural
from tb_dataplugin.whatif import Change


@rule(title="No CPU free for more DataLoader workers", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    busy, workers = signals.workers, signals.num_workers
    if busy is None or workers is None:
        return None
    capacity = judge_cpus(signals)
    if busy.busy < WORKERS_BUSY or not capacity.saturated:
        return None
    cpus = signals.cpus
    fewer = cpus is not None and workers > cpus
    less = (
        f" {plural(int(cpus), 'DataLoader worker')} would do the same work with fewer context switches."
        if cpus and fewer
        else ""
    )
    text = f"num_workers={workers}, busy for {percent(busy.busy)} {busy.of_whole}"
    return Finding(
        severity="low",
        saves=False,
        title=f"More DataLoader workers will not help: none of the {f'{cpus:g} ' if cpus else ''}CPUs is free",
        advice="Do less work per sample, or move work elsewhere: to the device, into the data on disk, or to "
        f"more CPUs.{less}",
        evidence=(share("workers_busy", busy.busy, busy.whole, text), *capacity.evidence),
        code=f"DataLoader(..., num_workers={int(cpus)})" if cpus and fewer and cpus >= 1 else "",
        change=Change(workers=int(cpus)) if cpus and fewer and cpus >= 1 else None,
    )
