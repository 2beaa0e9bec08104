"""Each DataLoader worker of an iterable dataset reads all of it."""

from __future__ import annotations

from tb_dataplugin.findings.dividing import CODE
from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WASTED
from tb_dataplugin.units import percent

LOOK = "Look into __iter__: it has to use get_worker_info(), or each item is trained on once per DataLoader worker."


@rule(title="DataLoader workers that read the same", about="workers", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    twins, unknown = signals.waste.twins, signals.waste.twins_unknown
    if unknown:
        return Abstention(f"{unknown}, so it is not known whether each reads all of the dataset. {LOOK}")
    if twins is None or twins.share < WASTED:
        return None
    text = f"{twins.workers} DataLoader workers read items of the same sizes in the same order"
    return Finding(
        severity="high",
        title=f"{twins.workers} DataLoader workers read the same items, each item {twins.workers} times in an epoch",
        advice="Each worker has a copy of the iterable dataset, and iterates all of it. Give each its own part in "
        "__iter__, by get_worker_info().",
        evidence=(share("items_again", twins.share, "items", f"{text}: {percent(twins.share)} of them are repeats"),),
        code=CODE,
        confidence="likely",
        confidence_reason="That they are repeats is inferred from their sizes; different items may have equal sizes.",
    )
