"""Building batches from samples caused a large part of the data wait."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEAVY_PART
from tb_dataplugin.units import duration, percent, plural


@rule(title="Slow collate", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    waits = (wait for wait in signals.waits_by_stage or () if wait.stage is not None and wait.stage.kind == "collate")
    wait = next(waits, None)
    if wait is None or wait.share < HEAVY_PART:
        return None
    rows = [calls for calls in signals.stages if calls.stage == wait.stage]
    gain = signals.per_step(signals.saved_without(rows, wait.cost_us)) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=wait.cost_us),
        title=f"{wait.name} caused {percent(wait.share)} of the data wait",
        advice="Return tensors of one shape and dtype from the dataset, so that collate only stacks them into one "
        "block of shared memory; pad or convert per sample, or once on the device.",
        stage=wait.name,
        evidence=tuple(
            time(
                "call_time",
                calls.total_us / calls.count,
                f"{plural(calls.count, 'call')} of {duration(calls.total_us / calls.count)} on average",
                whole="call",
                stage=wait.name,
            )
            for calls in rows[:1]
        ),
        gain_us_per_step=gain,
        code="torch.stack(images, out=buffer)  # what default_collate does for tensors of one shape",
    )
