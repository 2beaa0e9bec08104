"""Each epoch begins with a long wait although the workers live on: nothing was built ahead for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.apart_signals import LoaderStarts, StartSignals
from tb_dataplugin.findings.epoch_gain import epoch_of, most_us, needed_us, of_the_costliest, wait_of, waited_text
from tb_dataplugin.findings.epoch_length import EpochLength, start_us_per_step, steps_between
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import EPOCH_START
from tb_dataplugin.units import duration

WHY: Final = (
    "DataLoader draws indices for an epoch only when iter(loader) is called: until then its DataLoader workers have "
    "nothing to build, and more of them do not bring the first batch any earlier. "
)
MAP_STYLE: Final = (
    "Let one iteration go through the data several times, by a sampler that repeats it, and do by a count of steps "
    "what the loop does at the end of an epoch."
)
ITERABLE: Final = (
    "Let __iter__ of the dataset go through its data several times, and do by a count of steps what the loop does at "
    "the end of an epoch."
)
ACROSS: Final = " A batch may then have samples of two passes."
CODE: Final = (
    "DataLoader(..., sampler=RandomSampler(dataset, num_samples=10 * len(dataset)))  # in place of shuffle=True"
)


@rule(title="Epochs that start with no batch built ahead", about="epochs", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    return of_the_costliest(signals, _judge)


def _judge(signals: Signals, one: LoaderStarts) -> Finding | None:
    starts, loader, step_us = one.starts, one.loader, signals.step_us
    if signals.remade is not None and one.is_main:
        return None  # its workers start anew for each epoch, whatever they are asked to do
    if not loader.persistent_workers or not starts.repeated or not step_us:
        return None
    length = steps_between(signals, starts, None if one.is_main else loader)
    waited = start_us_per_step(signals, one)
    gain = most_us(signals, one, waited)
    if not length or not signals.step_count or gain < EPOCH_START * (step_us + waited):
        return None
    repeats = loader.sampler == "RandomSampler" and loader.replacement is False and not loader.iterable
    return Finding(
        severity=severity(signals, gain),
        title=f"{epoch_of(signals, one)} begins with a wait of {wait_of(starts)}, as nothing is built ahead for it",
        advice=f"{WHY}{ITERABLE if loader.iterable else MAP_STYLE}{ACROSS}",
        evidence=tuple(_evidence(starts, length, waited, gain, needed_us(signals, starts))),
        gain_us_per_step=gain,
        code=CODE if repeats else "",
        confidence="likely",
        confidence_reason="The waits are measured; how far DataLoader workers would be ahead of a loop that goes on is "
        "not, and the batches after an epoch's first are not counted.",
    )


def _evidence(
    starts: StartSignals, length: EpochLength, waited: float, gain: float, needed: float
) -> Iterator[Evidence]:
    text = f"{waited_text(starts)}, {length.text}"
    yield time("repeated_epoch_starts", starts.repeated_us, text)
    if duration(gain) != duration(waited):
        text = f"beyond that the loop waits for its DataLoader workers, which need {duration(needed)} per step"
        yield time("workers_need", needed, text, whole="step")
