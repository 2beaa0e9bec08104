"""Some steps make a new iterator of another DataLoader for a batch or two: ``next(iter(val_loader))``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence, number, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.look_signals import LookSignals
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.restart_texts import KEEP_CODE, made_text, names_of, taken_text
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEALTHY
from tb_dataplugin.units import count, duration, plural

KEEP: Final = "Make the iterator once, before the loop, and call next() on it for each look."
WORKERS: Final = (
    "Each new one starts its DataLoader workers, which fetch batches ahead that nobody takes and compete with the step "
    "for the CPUs, and ends them again. "
)
NONE_NEEDED: Final = " Or give this DataLoader num_workers=0: for so few batches that is less than starting processes."
SAME: Final = " Without shuffling, each new iterator gives the same first batch: keep that batch instead."


@rule(title="Iterators made for a look at a batch", about="others")
def check(signals: Signals) -> Finding | None:
    """By what it costs: how often it is done, windows of some steps show by chance."""
    looks = signals.looks
    if looks is None or (signals.share(looks.us) or 0.0) < HEALTHY:
        return None
    same = any(each.loader.shuffle is False and not each.loader.iterable for each in looks.loaders)
    where = f" ({looks.place})" if looks.place else ""
    return Finding(
        severity=severity(signals, signals.per_step(looks.certain_us), otherwise_us=looks.certain_us),
        title=f"A new iterator of {names_of(looks.loaders)} is made in {_steps(signals, looks)} for "
        f"{taken_text(looks.loaders)}, and dropped{where}",
        advice=f"{WORKERS if looks.has_workers else ''}{KEEP}{NONE_NEEDED if looks.has_workers else ''}"
        f"{SAME if same else ''}",
        evidence=tuple(_evidence(signals, looks)),
        gain_us_per_step=signals.per_step(looks.us),
        code=KEEP_CODE,
        confidence="likely",
        confidence_reason="The gain is all that these steps take longer than the fastest other step, which may have "
        "other reasons too.",
    )


def _steps(signals: Signals, looks: LookSignals) -> str:
    return f"{count(len(looks.steps))} of {plural(signals.step_count or 0, 'step')}"


def _evidence(signals: Signals, looks: LookSignals) -> Iterator[Evidence]:
    for each in looks.loaders:
        yield number("iterators", each.made, "count", made_text(each, signals.step_count), whole="window")
    waited = "until the first batch came" if looks.has_workers else "drawing indices"
    wait, longer = (duration(part / len(looks.steps)) for part in (looks.wait_us, looks.excess_us))
    yield time("look_wait", looks.wait_us, f"{wait} {waited}, in each of these steps")
    text = f"each of these steps takes {longer} longer than the fastest of the others, with all that it does besides"
    yield time("look_excess", looks.excess_us, text)
