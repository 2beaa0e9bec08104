"""The workers are busy and so are the cores: another worker would only share them."""

from __future__ import annotations

from tb_dataplugin.findings.capacity import find_capacity
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_BUSY
from tb_dataplugin.units import percent, plural


def check(signals: Signals) -> Finding | None:
    flow, workers = signals.evidence.flow.workers, signals.num_workers
    if not signals.makes_batches_in_workers or flow is None or workers is None:
        return None
    capacity = find_capacity(signals)
    if not signals.is_input_bound(INPUT_BOUND) or flow.busy < WORKERS_BUSY or not capacity.saturated:
        return None
    cores = signals.cores
    fewer = cores is not None and workers > cores
    less = f" {plural(int(cores), 'worker')} would do the same work with fewer switches." if cores and fewer else ""
    return Finding(
        rule="more_workers_will_not_help",
        severity="medium",
        title=f"More DataLoader workers will not help: the {f'{cores:g} ' if cores else ''}cores are taken",
        advice="Only less work per sample helps, or work moved elsewhere: to the device, into the data on disk, or to "
        f"more cores.{less}",
        evidence=(
            f"num_workers={workers}, busy for {percent(flow.busy)} of the window",
            *capacity.evidence,
        ),
        code=f"DataLoader(..., num_workers={int(cores)})" if cores and fewer and cores >= 1 else "",
    )
