"""Batches are made in the training thread, one after the other with the training."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import duration, plural


def check(signals: Signals) -> Finding | None:
    if signals.mode == "replay" or signals.loader is None or signals.loader.num_workers != 0:
        return None
    if not signals.is_input_bound(INPUT_BOUND) or signals.felt_us is None:
        return None
    cores = int(signals.cores) if signals.cores else None
    workers = max(1, cores - 1) if cores else 4
    gain = _gain(signals, workers if cores else None)
    start = f"one less than the {plural(cores, 'core')}" if cores else "or one less than the machine has cores"
    return Finding(
        rule="single_process_loading",
        severity=severity(signals, gain, otherwise_us=signals.felt_us),
        title="The DataLoader has no workers: the training thread makes every batch itself",
        advice=f"Start with num_workers={workers} ({start}) and measure again: "
        "batches then come no faster than that many processes make them.",
        gain_us_per_step=gain,
        evidence=(
            "num_workers=0",
            signals.felt_words,
            f"{duration(signals.wait_us)} of data wait in all",
        ),
        code=f"DataLoader(..., num_workers={workers}, persistent_workers=True)",
    )


def _gain(signals: Signals, workers: int | None) -> float | None:
    """Per step, at most: what was waited, and no faster than that many workers make batches. None without steps."""
    if signals.felt_us is None or signals.wait_us is None:
        return None
    fastest = signals.wait_us / workers if workers else 0.0
    return signals.per_step(max(0.0, min(signals.felt_us, signals.window_us - fastest)))
