"""The loop makes a new iterator of a DataLoader for each batch or for a few: ``next(iter(loader))``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence, number, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import interval
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.restart_signals import RestartSignals
from tb_dataplugin.findings.restart_texts import KEEP_CODE, made_anew, made_text
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration, percent, plural

KEEP: Final = (
    "Make the iterator once, before the loop, and call next() on it; when an epoch is over (StopIteration), make the "
    "next one. Or let the loop iterate: for batch in loader."
)
NO_CURE: Final = (
    " persistent_workers=True is half a cure: an iterator that is dropped still throws away what its DataLoader "
    "workers have built ahead."
)
FIRST: Final = " Do that before you add DataLoader workers: else all of them start and end for each batch."
SAME: Final = " Without shuffling, each new iterator gives the same first batch again."


@rule(title="Iterators made in every step", about="host")
def check(signals: Signals) -> Finding | None:
    restarts = signals.restarts
    if restarts is None:
        return None
    gain = signals.per_step(restarts.us)
    return Finding(
        severity=severity(signals, signals.per_step(restarts.certain_us), otherwise_us=restarts.certain_us),
        title=made_anew(restarts),
        advice=f"{KEEP}{NO_CURE if restarts.has_workers else FIRST}{_same(restarts)}",
        evidence=tuple(_evidence(signals, restarts)),
        gain_us_per_step=gain,
        code=KEEP_CODE,
        confidence="likely",
        confidence_reason="Waits are measured; making and dropping iterators is estimated, at its upper end.",
    )


def _same(restarts: RestartSignals) -> str:
    return SAME if any(each.loader.shuffle is False and not each.loader.iterable for each in restarts.loaders) else ""


def _evidence(signals: Signals, restarts: RestartSignals) -> Iterator[Evidence]:
    for each in restarts.loaders:
        yield number("iterators", each.made, "count", made_text(each, signals.step_count), whole="window")
    waited, made = (signals.per_step(part) or 0.0 for part in (restarts.wait_us, restarts.making_us))
    what = "waiting for their batches" if restarts.has_workers else "drawing indices"
    yield time("restart_wait", restarts.wait_us, f"{duration(waited)} per step {what}")
    if restarts.making is None:
        text = f"making and dropping them takes up to {duration(made)} per step, all that is neither wait nor operator"
        yield time("iterators_made", restarts.making_us, text)
        return
    line = f", {restarts.text}" if restarts.text else ""
    samples = plural(restarts.making.samples, "stack sample")
    seen = f"{percent(restarts.making.share)} of the time outside the data wait, {interval(restarts.making)}, {samples}"
    text = f"making and dropping them takes up to {duration(made)} per step ({seen}{line})"
    yield share("iterators_made", restarts.making.share, "time outside the data wait", text)
