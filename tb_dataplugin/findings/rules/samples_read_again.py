"""A sample is read several times in one epoch."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WASTED
from tb_dataplugin.units import count, percent, plural


@rule(title="Samples read again in the same epoch", about="samples")
def check(signals: Signals) -> Finding | None:
    again = signals.waste.again
    if again is None or again.share < WASTED:
        return None
    text = f"{count(again.again)} of {plural(again.samples, 'sample')} had been read before in the same epoch"
    part, least = percent(again.share), "" if again.whole else "at least "
    if least:
        text += "; what it read before the first recorded batch is not known"
    is_said = bool(signals.loader and signals.loader.replacement is not None)
    return Finding(
        severity="medium",
        title=f"{least}{part} of the samples are read again in the same epoch".capitalize(),
        advice="If that is not intended, check the sampler for repeated indices and lists of files for duplicates. To "
        "make a sample count more, weight it in the loss instead.",
        evidence=(share("samples_again", again.share, "samples", text),),
        confidence="measured" if is_said else "likely",
        confidence_reason="" if is_said else "A sampler of your own may draw with replacement on purpose.",
    )
