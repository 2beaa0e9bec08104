"""Building batches from samples has a large part of the wait."""

from __future__ import annotations

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEAVY_PART, INPUT_BOUND
from tb_dataplugin.units import duration, percent, plural


def check(signals: Signals) -> Finding | None:
    stage = next((one for one in signals.blamed or () if one.stage is not None and one.stage.kind == "collate"), None)
    if stage is None or stage.share < HEAVY_PART or not signals.is_input_bound(INPUT_BOUND):
        return None
    rows = [row for row in signals.rows if row.stage == stage.stage]
    gain = signals.per_step(signals.felt_without(rows, stage.exposed_us)) if signals.mode != "replay" else None
    return Finding(
        rule="collate_heavy",
        severity=severity(signals, gain, otherwise_us=stage.exposed_us),
        title=f"{stage.name} takes {percent(stage.share)} of the data wait",
        advice="Let the samples be tensors of one shape and type, so that collate only stacks them, into one piece of "
        "shared memory; pad or convert per sample, or once on the device.",
        stage=stage.name,
        evidence=tuple(
            f"{plural(row.count, 'call')} of {duration(row.total_ns / row.count / 1e3)} on average" for row in rows[:1]
        ),
        gain_us_per_step=gain,
        code="torch.stack(images, out=buffer)  # what default_collate does for tensors of one shape",
    )
