"""How much of a stage's time is Python's garbage collector, which has no stage of its own."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import MUCH_COLLECTING
from tb_dataplugin.units import percent


def collecting_evidence(signals: Signals, place: StageWait, rows: list[StageCalls]) -> Iterator[Evidence]:
    """Where that is much. Stacks have no frame for it: they show the line that it interrupts."""
    in_workers = signals.builds_batches_in_workers
    part = max((row.collecting for row in rows), default=0.0) if in_workers else _in_training_thread(signals, place)
    if part >= MUCH_COLLECTING:
        whole = "self time" if in_workers else "data wait"
        text = f"at least {percent(part)} of its {whole} is Python's garbage collector, on whichever line it comes"
        yield share("collecting", part, whole, text, place.name)


def _in_training_thread(signals: Signals, place: StageWait) -> float:
    """What the rest of the data wait has no room for."""
    if signals.garbage.wait_us is None or signals.data_wait_us is None or not place.data_wait_us:
        return 0.0
    others_us = signals.data_wait_us - place.data_wait_us
    return max(0.0, min(1.0, (signals.garbage.wait_us - others_us) / place.data_wait_us))
