"""Another DataLoader that the loop iterates in some of its steps is not annotated: nothing shows what it waits for."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.apart_sentence import iterated_in
from tb_dataplugin.findings.evidence import time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import duration, percent

ADVICE: Final = (
    "Its waits are told apart from the training loop's, and nothing shows what they are for. Annotate that DataLoader "
    "too, or call annotate.auto() before the loop, which follows all DataLoaders, and capture again."
)

CODE: Final = """val = annotate.loader(val)  # the other DataLoader

annotate.auto()  # or, before the loop: all DataLoaders"""


@rule(title="DataLoader that is not annotated", about="others")
def check(signals: Signals) -> Finding | None:
    apart = signals.apart
    other = apart.unannotated if apart is not None else None
    share = signals.share(other.wait_us) if other is not None else None
    if apart is None or other is None or share is None or share < INPUT_BOUND:
        return None
    waited = f"{duration(other.wait_us)}, {percent(other.wait_us / apart.whole_us)} of the data wait"
    return Finding(
        severity="medium",
        title=f"Another DataLoader, iterated in {iterated_in(other.steps)}, is not annotated",
        advice=ADVICE,
        evidence=(time("unannotated_wait", other.wait_us, f"waits for its batches: {waited}"),),
        code=CODE,
    )
