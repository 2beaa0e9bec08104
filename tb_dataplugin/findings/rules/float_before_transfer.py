"""Samples become 32-bit numbers in the worker, so four times the bytes travel."""

from __future__ import annotations

from tb_dataplugin.analyses.attribution import TRANSFER
from tb_dataplugin.findings.capacity import find_capacity
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.sequence import sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import COPIES, GROWS, HEAVY_PART, INPUT_BOUND
from tb_dataplugin.units import duration, significant

RULE = "float_before_transfer"

CODE = """# the worker hands over uint8
x = x.to(device, non_blocking=True).float().div_(255)"""


def check(signals: Signals) -> Finding | Abstention | None:
    moved, copied = _moving(signals), signals.idle_by_cause_us.get("h2d", 0.0)
    worth = bool(signals.felt_us and moved >= HEAVY_PART * signals.felt_us and signals.is_input_bound(INPUT_BOUND))
    if signals.mode != "train" or not (worth or (signals.share(copied) or 0.0) >= COPIES):
        return None
    steps = [step for sequence in sequences(signals.rows) for step in sequence]
    if not any(step.ratio is not None for step in steps):
        return Abstention(RULE, "the sizes of what transforms return were not recorded") if steps else None
    growing = [step for step in steps if step.ratio is not None and step.ratio >= GROWS]
    if not growing:
        return None
    step = growing[-1]
    ratio = step.ratio or 1.0
    saved = (moved + copied) * (1 - 1 / ratio)
    gain = signals.per_step(saved)
    taken = find_capacity(signals).saturated
    return Finding(
        rule=RULE,
        severity=severity(signals, gain, otherwise_us=saved),
        title=f"{step.row.stage.label} makes {significant(ratio, 2)} times the bytes before the batch travels",
        advice="Leave the numbers as they are until the batch is on the device, and convert there.",
        stage=step.row.stage.name,
        evidence=(
            f"collate and the way to the training thread: {duration(moved)} of the wait",
            f"device idle for {duration(copied)} while the host was in a copy" if signals.has_device else "",
        ),
        gain_us_per_step=gain,
        code=CODE,
        confidence="possible" if taken else "likely",
        confidence_reason="the cores are taken, so part of that time may be waiting for one"
        if taken
        else "the time to move a batch is taken to grow with its bytes",
    )


def _moving(signals: Signals) -> float:
    """The felt wait for collate and for handing batches over."""
    return sum(
        one.exposed_us
        for one in signals.blamed or ()
        if one.name == TRANSFER or (one.stage is not None and one.stage.kind in ("collate", "transfer"))
    )
