"""Another DataLoader that steps of the loop draw from is not annotated: nothing shows what its batches wait for."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.apart_sentence import iterated_in
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, INPUT_BOUND
from tb_dataplugin.units import duration, percent

ADVICE: Final = (
    "Its waits are told apart from the training loop's, and nothing shows what they are for. Annotate that DataLoader "
    "too, or call annotate.auto() before the loop, which follows all DataLoaders, and capture again."
)

IN_STEPS: Final = (
    "Its waits are part of the loop's data wait, and nothing shows what they are for, so no stage, DataLoader worker "
    "or gain counts them. Annotate that DataLoader too, before its iterator is made, or call annotate.auto() "
    "before the loop, which follows all DataLoaders, and capture again."
)

BESIDE: Final = """other = annotate.loader(other)  # the other DataLoader, before iter(other)

annotate.auto()  # or, before the loop: all DataLoaders"""

CODE: Final = """val = annotate.loader(val)  # the other DataLoader

annotate.auto()  # or, before the loop: all DataLoaders"""


@rule(title="DataLoader that is not annotated", about="others")
def check(signals: Signals) -> Finding | None:
    return _beside(signals) or _aside(signals)


def _beside(signals: Signals) -> Finding | None:
    beside, share = signals.beside, signals.share(signals.beside.wait_us) if signals.beside else None
    if beside is None or share is None or share < INPUT_BOUND or not signals.data_wait_us:
        return None
    drawn = f", drawn from {beside.where}," if beside.where else ""
    return Finding(
        severity="high" if share >= HIGHLY_INPUT_BOUND else "medium",
        title=f"Another DataLoader{drawn} is not annotated",
        advice=IN_STEPS,
        evidence=(_waited(beside.wait_us, signals.data_wait_us, signals.own_wait),),
        code=BESIDE,
    )


def _aside(signals: Signals) -> Finding | None:
    apart = signals.apart
    other = apart.unannotated if apart is not None else None
    share = signals.share(other.wait_us) if other is not None else None
    if apart is None or other is None or share is None or share < INPUT_BOUND:
        return None
    return Finding(
        severity="medium",
        title=f"Another DataLoader, iterated in {iterated_in(other.steps)}, is not annotated",
        advice=ADVICE,
        evidence=(_waited(other.wait_us, apart.whole_us, "data wait"),),
        code=CODE,
    )


def _waited(wait_us: float, whole_us: float, whole: str) -> Evidence:
    text = f"waits for its batches: {duration(wait_us)}, {percent(wait_us / whole_us)} of the {whole}"
    return time("unannotated_wait", wait_us, text)
