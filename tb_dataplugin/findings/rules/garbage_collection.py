"""Python's garbage collector takes a good part of the time in which batches are made, or most of the data wait."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MUCH_COLLECTING
from tb_dataplugin.units import duration, percent


@rule(title="Garbage collection", about="samples", input_bound=True)
def check(signals: Signals) -> Finding | None:
    if signals.builds_batches_in_workers and signals.collector_has_wait:
        return _in_the_wait(signals, signals.wait_collecting_us or 0.0)
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


def _in_the_wait(signals: Signals, collecting_us: float) -> Finding:
    """DataLoader workers make the batches, but the training process collects while it waits for one."""
    part, gain = collecting_us / (signals.data_wait_us or collecting_us), signals.per_step(collecting_us)
    text = f"{duration(collecting_us)} of {duration(signals.data_wait_us or collecting_us)} of {signals.own_wait}"
    return Finding(
        severity=severity(signals, gain),
        title=f"Python's garbage collector takes {percent(part)} of the {signals.own_wait}, in the training process",
        advice="It runs whenever enough objects have been made, and happened to run in next(): no change of the loader "
        "shortens it. Call gc.freeze() once model and dataset are built, so that it has fewer objects to scan, or "
        "gc.collect() where it does not matter.",
        evidence=(share("collecting", part, "data wait", text),),
        gain_us_per_step=gain,
        code="import gc\n\ngc.freeze()  # once, before the loop",
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
