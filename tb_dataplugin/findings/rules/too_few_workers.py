"""The workers are busy all the time, the cores are not: more workers would make batches faster."""

from __future__ import annotations

import math

from tb_dataplugin.findings.capacity import find_capacity, find_storage, reads_from_storage
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_BUSY
from tb_dataplugin.units import percent, plural

RULE = "too_few_workers"


def check(signals: Signals) -> Finding | Abstention | None:
    if not signals.makes_batches_in_workers or not signals.is_input_bound(INPUT_BOUND):
        return None
    flow, workers = signals.evidence.flow.workers, signals.num_workers or 0
    if flow is None:
        return Abstention(RULE, "the workers left no records, so whether they were busy is unknown")
    if flow.busy < WORKERS_BUSY:
        return None
    capacity = find_capacity(signals)
    if capacity.saturated is None:
        return Abstention(RULE, "the trace does not tell whether the cores were taken")
    if capacity.saturated or (reads_from_storage(signals) and find_storage(signals).saturated):
        return None
    wanted = _wanted(signals, workers)
    gain = gain_with(signals, workers, wanted)
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=signals.felt_us),
        title=f"{plural(workers, 'DataLoader worker')} cannot make batches fast enough, and there are cores left",
        advice=f"Use num_workers={wanted} and measure again. Batches then come at most {wanted / workers:.2g} times as "
        "fast, as long as cores, storage and memory bandwidth keep up.",
        evidence=(
            f"the workers are busy for {percent(flow.busy)} of the window",
            *capacity.evidence,
            signals.felt_words,
        ),
        gain_us_per_step=gain,
        code=f"DataLoader(..., num_workers={wanted})",
        confidence="possible" if reads_from_storage(signals) else "likely",
        confidence_reason="the workers mostly wait for storage, which may have no more to give"
        if reads_from_storage(signals)
        else "storage or memory bandwidth may be shared by the workers, which a trace does not show",
    )


def _wanted(signals: Signals, workers: int) -> int:
    """As many as would keep up with the device, within the cores."""
    rates = signals.throughput
    wanted = 2 * workers
    if rates is not None and rates.load and rates.device:
        wanted = math.ceil(workers * rates.device / rates.load)
    limit = int(signals.cores) if signals.cores else wanted
    return max(workers + 1, min(wanted, max(limit, workers + 1)))


def gain_with(signals: Signals, workers: int, wanted: int) -> float | None:
    """Per step, at most: what was waited, and batches come no faster than that many workers make them (Amdahl)."""
    flow = signals.evidence.flow.workers
    if flow is None or signals.felt_us is None or signals.wait_us is None:
        return None
    making = flow.busy * signals.window_us * workers / wanted
    return signals.per_step(max(0.0, min(signals.felt_us, signals.window_us - making)))
