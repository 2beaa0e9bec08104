"""Python's garbage collector takes a good part of the time in which batches are made."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MUCH_COLLECTING
from tb_dataplugin.units import percent


@rule(title="Garbage collection", about="samples", input_bound=True)
def check(signals: Signals) -> Finding | None:
    found = _in_workers(signals) if signals.builds_batches_in_workers else _in_training_process(signals)
    if found is None or found[0] < MUCH_COLLECTING or signals.mean_step_us is None:
        return None
    part, whole, where = found
    cost = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    gain = min(cost, part * signals.mean_step_us)
    return Finding(
        severity=severity(signals, gain),
        title=f"Python's garbage collector takes {percent(part)} of the {whole} {where}",
        advice="Give it fewer objects to scan: call gc.freeze() once the dataset is built (in DataLoader workers, in "
        "worker_init_fn), keep many small values in arrays instead of lists and dicts of Python objects, or collect "
        "less often with gc.set_threshold.",
        evidence=(share("collecting", part, whole, f"{percent(part)} of the {whole} {where} in the collector"),),
        gain_us_per_step=gain,
        code="import gc\n\ndef worker_init(worker):\n    gc.freeze()",
        confidence="measured",
    )


def _in_workers(signals: Signals) -> tuple[float, str, str] | None:
    if signals.costs is None or signals.costs.gc is None:
        return None
    return signals.costs.gc, "build time", "in DataLoader workers"


def _in_training_process(signals: Signals) -> tuple[float, str, str] | None:
    """Without workers the batches are made in the training process."""
    part = signals.share(signals.collecting_us)
    return None if part is None else (part, "window", "in the training process")
