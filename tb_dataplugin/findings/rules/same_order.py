"""A sampler that is to shuffle gives every epoch the same order."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.waste import SAME_ORDER
from tb_dataplugin.units import percent


@rule(title="The same order in each epoch", about="epochs")
def check(signals: Signals) -> Finding | None:
    same = signals.waste.same_order
    if same is None or same < SAME_ORDER or signals.loader is None:
        return None
    sampler = signals.loader.sampler or "The sampler"
    text = f"{percent(same)} of the samples are in the same batch in two epochs"
    advice = "Call sampler.set_epoch(epoch) before each epoch: the order depends on it."
    if sampler != "DistributedSampler":
        advice = "Do not seed its generator again for each epoch."
    return Finding(
        severity="medium",
        title=f"{sampler} shuffles, but gives each epoch the same order",
        advice=advice,
        evidence=(share("same_order", same, "samples", text),),
    )
