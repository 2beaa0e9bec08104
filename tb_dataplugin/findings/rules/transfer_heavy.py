"""The way from the worker to the training thread caused a large part of the data wait."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.wait_parts import TRANSFER
from tb_dataplugin.findings.capacity import held_by_others, judge_cpus
from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.foresight import WORTH_SAYING
from tb_dataplugin.findings.in_memory import (
    ONLY_WAY,
    ONLY_WAY_CODE,
    advice_for,
    code_for,
    needs_no_workers,
    saved_without_workers,
    takes_batches,
)
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_on_the_way
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageWait, batch_bytes
from tb_dataplugin.findings.thresholds import HAND_OVER_US, HEAVY_PART, WAY_BYTES_PER_S
from tb_dataplugin.units import data_size, duration, percent, plural
from tb_dataplugin.whatif import Change

SMALLER: Final = (
    "Send fewer and smaller objects: uint8 rather than float, converted on the device, and lists of objects as one "
    "tensor per field. Anything that is not a tensor is pickled."
)

HANDED: Final = (
    "{} If it holds other objects than tensors, such as lists of numbers, which are pickled one by one, make them one "
    "tensor per field. If it does not, this is mostly the price of handing over a batch, which larger batches pay less "
    "often."
)

PINNED: Final = (
    "{} of it is pinning, in a thread of the training process, which copies each batch once more. Beyond what its "
    "bytes take, that is many small tensors, a pin_memory() method of your own, or waiting for Python's lock or a CPU. "
    "Send fewer tensors and smaller ones (uint8, converted on the device); for small batches pin_memory=False may be "
    "faster."
)

MOST: Final = 0.5
"""Of the transfer, from which pinning is what it is."""

LOCKED: Final = (
    "The size of a batch does not explain this. The thread that sends a batch needs the interpreter's lock, which pure "
    "Python code holds for 5 ms at a time while the next batch is built: do such work in numpy, PIL or torch, which "
    "release it. If a batch holds other objects than tensors, such as lists of numbers, which are pickled one by one, "
    "make them one tensor per field."
)

BUILDING: Final = 0.5
"""Busy share of DataLoader workers, from which what they build stands in the way of what they send."""

CROWDED: Final = (
    "No CPU is free: the threads that send and receive a batch wait for one. "
    "Leave one free for them ({}), and measure again.{}"
)

NOT_FEWER: Final = " Fewer DataLoader workers do not: with {} `tb-dataplugin whatif` predicts longer steps."

RECORDED: Final = (
    "No CPU was free, and the process that samples threads for this recording took {} of one: the threads that send "
    "and receive a batch may only have waited for that. Record more steps, and look again."
)

OBJECTS: Final = HANDED.format("Its DataLoader worker has time, and the size of a batch does not explain this.")


@rule(title="Slow transfer of batches", about="samples", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    wait = signals.wait_for_kinds("transfer")
    if wait is None or wait.share < HEAVY_PART or not signals.wait_count or signals.lock_limits_wait:
        return None
    if signals.collector_has_wait:  # it struck while a batch was received
        return None
    each = max(wait.data_wait_us, signals.on_way_us) / signals.wait_count
    if needs_no_workers(signals):  # also the price of next() goes with the workers
        return _needless(signals, wait, each)
    return _floor(signals, wait, each) if each <= HAND_OVER_US else _heavy(signals, wait, each)


def _needless(signals: Signals, wait: StageWait, each: float) -> Finding:
    """No batch would have to come from a DataLoader worker."""
    saving, already = saved_without_workers(signals), takes_batches(signals)
    gain = signals.per_step(saving.us)
    return Finding(
        severity=severity(signals, signals.per_step(saving.of_wait_us), otherwise_us=saving.us),
        title=_title(signals, wait, each),
        advice=ONLY_WAY if already else advice_for(signals),
        stage=TRANSFER,
        evidence=(*_evidence(signals, wait, batch_bytes(signals.stages)), *saving.why),
        gain_us_per_step=gain,
        code=ONLY_WAY_CODE if already else code_for(signals),
        confidence="likely",
        confidence_reason="How long the training thread takes to copy the rows of a batch was not measured.",
    )


def _title(signals: Signals, wait: StageWait, each: float) -> str:
    way = f"A batch takes {duration(each)} from DataLoader worker to training thread"
    return f"{way}: {percent(wait.share)} of the {signals.own_wait}"


def _heavy(signals: Signals, wait: StageWait, each: float) -> Finding:
    size = batch_bytes(signals.stages)
    by_size = 0.0 if size is None else size / WAY_BYTES_PER_S * 1e6
    light = size is not None and by_size < each - HAND_OVER_US
    saving = saved_on_the_way(signals, wait, HAND_OVER_US * signals.wait_count)
    saved_us = saving.us
    gain = signals.per_step(saved_us)
    no_cpu = judge_cpus(signals).saturated or signals.recording_crowds
    light = light or (size is None and bool(no_cpu))
    return Finding(
        severity=severity(signals, gain, otherwise_us=saved_us),
        title=_title(signals, wait, each),
        advice=_advice(signals, size, no_cpu, light=light, heavy=by_size >= each),
        stage=TRANSFER,
        evidence=(*_evidence(signals, wait, size), *saving.why),
        gain_us_per_step=gain,
        confidence="possible" if no_cpu else "likely",
        confidence_reason="No CPU is free, so part of it may be waiting for one."
        if no_cpu
        else f"What next() itself takes was not measured: {duration(HAND_OVER_US)} per batch is taken to remain.",
    )


def _advice(signals: Signals, size: float | None, no_cpu: bool | None, *, light: bool, heavy: bool) -> str:
    """`light`: its size does not explain what it takes; `heavy`: its size may explain all of it."""
    if (pinning := _pinning(signals)) >= MOST:
        return PINNED.format(percent(pinning))
    if light:
        return _why_light(signals, no_cpu)
    if heavy:
        return SMALLER
    return HANDED.format("What a batch holds was not recorded." if size is None else "A batch is small.")


def _pinning(signals: Signals) -> float:
    """Its part of the transfer."""
    wait, whole = signals.wait_for(f"{TRANSFER}::pin"), signals.wait_for_kinds("transfer")
    return wait.data_wait_us / whole.data_wait_us if wait and whole and whole.data_wait_us else 0.0


def _why_light(signals: Signals, no_cpu: bool | None) -> str:
    if signals.recorder is not None and signals.recorder.crowds:
        return RECORDED.format(percent(signals.recorder.used))
    if no_cpu:
        slower = _slower_with_fewer(signals)
        return CROWDED.format(_ways_to_a_free_cpu(signals, bool(slower)), slower)
    workers = signals.workers
    return LOCKED if workers is None or workers.busy >= BUILDING else OBJECTS


def _slower_with_fewer(signals: Signals) -> str:
    """With one DataLoader worker less, as far as that can be predicted; "" where it may be as fast."""
    workers, foresight = signals.num_workers or 0, signals.foresight
    if workers <= 1 or foresight is None or held_by_others(signals) is not None:
        return ""
    is_as_fast = foresight.expects_gain(Change(workers=workers - 1), least=-WORTH_SAYING)
    return NOT_FEWER.format(f"num_workers={workers - 1}") if is_as_fast is False else ""


def _ways_to_a_free_cpu(signals: Signals, is_slower_with_fewer: bool) -> str:
    """None is not fewer DataLoader workers, and without a device torch's threads are what makes the step. Nor does any
    of these leave a CPU free that other programs want.
    """
    if held_by_others(signals) is not None:
        return "a machine that is not shared"
    may_be_fewer = (signals.num_workers or 0) > 1 and not is_slower_with_fewer
    fewer = {"DataLoader workers": may_be_fewer, "threads of torch": signals.has_device}
    named = " or ".join(name for name, may_be in fewer.items() if may_be)
    less = "less work in the DataLoader workers" if is_slower_with_fewer else ""
    return ", ".join(filter(None, [less, f"fewer {named}" if named else "", "a machine that is not shared"]))


def _evidence(signals: Signals, wait: StageWait, size: float | None) -> tuple[Evidence, ...]:
    caused, whole = duration(wait.data_wait_us), duration(signals.data_wait_us)
    of = signals.own_wait
    text = f"caused {caused} of {whole} of {of}"
    if caused == whole:
        part = "all" if percent(wait.share) == percent(1.0) else "nearly all"  # as the title has it
        text = f"caused {part} of the {of}, {whole}"
    spent = time("wait_by_stage", wait.data_wait_us, text, stage=TRANSFER)
    if size is None:
        return (spent,)
    return spent, number("batch_bytes", size, "bytes", f"{data_size(size)} per batch", whole="batch")


def _floor(signals: Signals, wait: StageWait, each: float) -> Finding:
    text = f"{percent(wait.share)} of the {signals.own_wait}, in {plural(signals.wait_count, 'wait')}"
    return Finding(
        severity="low",
        title=f"Batches are ready in time; taking one costs {duration(each)} whatever the DataLoader workers do",
        advice="This is the price of next() itself, so more workers will not change it. Larger batches pay it less "
        "often.",
        stage=TRANSFER,
        evidence=(share("wait_by_stage", wait.share, "data wait", text, TRANSFER),),
        confidence="likely",
        confidence_reason="A full queue costs about 0.7 ms per batch on the machines where it was measured.",
    )
