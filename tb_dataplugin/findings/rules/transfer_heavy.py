"""The way from the worker to the training thread has a large part of the wait."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.attribution import TRANSFER
from tb_dataplugin.findings.capacity import find_capacity
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import BlamedStage, Signals
from tb_dataplugin.findings.thresholds import HAND_OVER_US, HEAVY_PART, INPUT_BOUND, WAY_BYTES_PER_S
from tb_dataplugin.units import duration, percent, plural, significant

SMALLER: Final = (
    "Send fewer and smaller things: one tensor per field rather than lists of objects, uint8 rather than float, and "
    "convert on the device. Anything that is no tensor is pickled."
)

LOCKED: Final = (
    "Its bytes do not explain that. The thread that sends a batch needs the interpreter's lock, which code in pure "
    "Python holds for 5 ms at a time while the next batch is made: do such work in numpy, PIL or torch, which release "
    "it. Or the batch holds many small objects, which are pickled one by one: make them tensors."
)


def check(signals: Signals) -> Finding | None:
    stage = signals.blamed_on(TRANSFER)
    if stage is None or stage.share < HEAVY_PART or not signals.is_input_bound(INPUT_BOUND):
        return None
    if not signals.makes_batches_in_workers or not signals.wait_count:
        return None
    each = stage.blame_us / signals.wait_count
    return _floor(signals, stage, each) if each <= HAND_OVER_US else _heavy(signals, stage, each)


def _heavy(signals: Signals, stage: BlamedStage, each: float) -> Finding:
    size = _bytes(signals)
    light = size is not None and size / WAY_BYTES_PER_S * 1e6 < each - HAND_OVER_US
    spare = stage.exposed_us - signals.wait_count * HAND_OVER_US * stage.exposed_us / stage.blame_us
    gain = signals.per_step(max(0.0, spare))
    taken = find_capacity(signals).saturated
    return Finding(
        rule="transfer_heavy",
        severity=severity(signals, gain, otherwise_us=spare),
        title=f"A batch takes {duration(each)} from DataLoader worker to training thread: "
        f"{percent(stage.share)} of the wait",
        advice=LOCKED if light else SMALLER,
        stage=TRANSFER,
        evidence=(
            f"{duration(stage.blame_us)} in {plural(signals.wait_count, 'wait')}",
            "" if size is None else f"{significant(size / 2**20)} MiB per batch",
        ),
        gain_us_per_step=gain,
        confidence="possible" if taken else "likely",
        confidence_reason="the cores are taken, so part of it may be waiting for one"
        if taken
        else "about a millisecond per batch remains in any case, and is taken off the gain",
    )


def _floor(signals: Signals, stage: BlamedStage, each: float) -> Finding:
    return Finding(
        rule="transfer_heavy",
        severity="low",
        title=f"Batches are ready in time; taking one costs {duration(each)} whatever the workers do",
        advice="This is the price of next() itself, so more workers will not change it. Larger batches pay it less "
        "often.",
        stage=TRANSFER,
        evidence=(f"{percent(stage.share)} of the wait, in {plural(signals.wait_count, 'wait')}",),
        confidence="likely",
        confidence_reason="a full queue costs about 0.7 ms per batch on the machines where it was measured",
    )


def _bytes(signals: Signals) -> float | None:
    """Of a batch."""
    row = next((row for row in signals.rows if row.stage.kind == "collate" and row.bytes), None)
    return None if row is None or row.bytes is None else row.bytes / row.count
