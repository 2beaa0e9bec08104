"""The dataset builds several samples for each that it returns."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.drawn_again import DrawnAgain
from tb_dataplugin.findings.evidence import Evidence, number, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import percent, plural, significant


@rule(title="Samples drawn again until one fits", about="samples", input_bound=True)
def check(signals: Signals) -> Finding | None:
    drawn = signals.waste.drawn_again
    if drawn is None or not signals.wait_cost_us:
        return None
    rows = [row for row in signals.stages if row.path[: len(drawn.path)] == drawn.path]
    saving, name = saved_without(signals, rows, part=drawn.wasted), drawn.path[-1].name
    gain = signals.per_step(saving.us)
    return Finding(
        severity=severity(signals, None if gain is None else signals.per_step(saving.of_wait_us)),
        title=f"{name} builds {significant(drawn.draws)} samples for each that it returns",
        advice="Choose the samples that fit before they are read and decoded: make a list of them once, where the "
        "dataset is made, or store it with the data. Where only a cheap part of a sample decides (a label, a mask), "
        "look at that part first.",
        stage=name,
        evidence=(*_evidence(drawn), *stage_line(signals, name), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        code="self.fitting = [index for index in range(count) if fits(index)]  # once, in __init__; draw from it",
        confidence="likely",
        confidence_reason="That the dataset draws again until a sample fits is inferred from how often it calls its "
        "parts; the bound is for samples that fit at once.",
    )


def _evidence(drawn: DrawnAgain) -> Iterator[Evidence]:
    parts = ", ".join(part.name for part in drawn.parts)
    text = f"in {plural(drawn.samples, 'sample')} {parts} are called equally often, 1 to {drawn.most} times"
    yield number("draws", drawn.draws, "count", f"{text}, {significant(drawn.draws)} on average", whole="sample")
    yield share("draws_wasted", drawn.wasted, "build time", f"all but the last call have {percent(drawn.wasted)} of it")
