"""`drop_last` leaves out a good part of each epoch."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import LEFT_OUT
from tb_dataplugin.units import count, percent


@rule(title="Samples left out at an epoch's end", about="epochs")
def check(signals: Signals) -> Finding | None:
    tail = signals.waste.tail
    if tail is None or tail.share < LEFT_OUT:
        return None
    never = " The order is the same in each epoch: they are never read." if tail.same_ones else ""
    text = f"drop_last=True leaves out {count(tail.left_out)} of {count(tail.samples)} samples"
    return Finding(
        severity="medium" if tail.same_ones else "low",
        title=f"{percent(tail.share)} of each epoch is left out by drop_last",
        advice=f"Set drop_last=False, or a batch size that divides the number of samples.{never}",
        evidence=(share("samples_left_out", tail.share, "samples of an epoch", text),),
    )
