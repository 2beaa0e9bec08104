"""Samples become 32-bit numbers in the worker, so four times the bytes travel."""

from __future__ import annotations

from tb_dataplugin.analyses.wait_parts import TRANSFER
from tb_dataplugin.findings.capacity import judge_cpus
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.kept_parts import why_unknown
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import Saving, until_workers_limit
from tb_dataplugin.findings.sequence import Step, sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import COPIES, GROWS, HEAVY_PART, INPUT_BOUND
from tb_dataplugin.units import duration, ratio

CODE = """# the DataLoader hands over uint8
x = x.to(device, non_blocking=True).float().div_(255)"""

THEN = "\nx = {}(x)  # on the device, for the batch"
"""What stood behind the conversion, and needs floats."""


@rule(title="Conversion to float before the transfer", about="samples")
def check(signals: Signals) -> Finding | Abstention | None:
    moved, copied = _moving(signals), signals.idle.by_cause_us.get("h2d", 0.0)
    cost = signals.wait_cost_us
    is_worth_it = bool(cost and moved >= HEAVY_PART * cost and signals.is_input_bound(INPUT_BOUND))
    if not signals.has_device:  # it would only move into the training thread
        return None
    if signals.mode != "train" or not (is_worth_it or (signals.share(copied) or 0.0) >= COPIES):
        return None
    steps = [step for sequence in sequences(signals.stages) for step in sequence]
    if not any(step.ratio is not None for step in steps):
        return Abstention(why_unknown(steps)) if steps else None
    growing = [step for step in steps if step.ratio is not None and step.ratio >= GROWS]
    if not growing:
        return None
    step = growing[-1]
    behind = _behind(signals, step)
    factor = step.ratio or 1.0
    saving = _saving(signals, *(part * (1 - 1 / factor) for part in (moved, copied)))
    gain = signals.per_step(saving.us)
    no_cpu = judge_cpus(signals).saturated
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{step.calls.stage.label} returns {ratio(factor)} the bytes it gets, before the batch is sent",
        advice=f"Keep the original dtype until the batch is on the device, and convert it there.{_moves_too(behind)}",
        stage=step.calls.stage.name,
        evidence=(*_evidence(signals, moved, copied), *saving.why),
        gain_us_per_step=gain,
        code=CODE + "".join(THEN.format(label.lower()) for label in behind),
        confidence="possible" if no_cpu else "likely",
        confidence_reason="No CPU is free, so part of that time may be waiting for one."
        if no_cpu
        else "The time to move a batch is assumed to grow with its bytes.",
    )


def _saving(signals: Signals, of_wait_us: float, of_step_us: float) -> Saving:
    """Less data wait, and a shorter step as far as batches come for it."""
    of_step = until_workers_limit(signals, of_step_us)
    return Saving(of_wait_us + of_step.us, of_step.why, of_step.us)


def _evidence(signals: Signals, moved: float, copied: float) -> tuple[Evidence, ...]:
    where = "" if signals.unsteady is None else ", in as many steps of the steady state (estimated)"
    text = f"collate and the transfer to the training thread caused {duration(moved)} of data wait{where}"
    idle = f"device idle for {duration(copied)} while the host was copying"
    return time("moving", moved, text), time("idle_h2d", copied, idle)


def _behind(signals: Signals, step: Step) -> tuple[str, ...]:
    """Labels of the transforms that what it returns goes through."""
    steps = (each for steps in sequences(signals.stages) if step in steps for each in steps)
    later = (each.calls for each in steps if step.calls.path in each.calls.inputs.earlier)
    return tuple(dict.fromkeys(calls.stage.label for calls in later if calls.stage.kind == "transform"))


def _moves_too(behind: tuple[str, ...]) -> str:
    if not behind:
        return ""
    return f" What follows it ({', '.join(behind)}) then gets the original dtype: move it to the device as well."


def _moving(signals: Signals) -> float:
    """What collate and handing batches over cost."""
    return sum(
        wait.cost_us
        for wait in signals.waits_by_stage or ()
        if wait.name == TRANSFER or (wait.stage is not None and wait.stage.kind in ("collate", "transfer"))
    )
