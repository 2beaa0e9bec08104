"""What a bound has of the data wait at the starts of epochs, where these come again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tb_dataplugin.findings.epoch_length import recurring_starts, recurring_us_per_step
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.units import duration
from tb_dataplugin.words import GAIN_BOUND

AT_STARTS: Final = f"{GAIN_BOUND}_at_starts"
"""Evidence: the part of a gain, per step, that is data wait at the starts of epochs."""


def saved_at_starts(signals: Signals, rows: Sequence[StageCalls], part: float) -> float:
    """Without `part` of these calls: of the window, what they caused of the data wait there. Of a stage that has other
    calls as well, as large a part as these have of its time.
    """
    saved = 0.0
    for name in dict.fromkeys(row.stage.name for row in rows):
        whole = sum(row.self_us for row in signals.stages if row.stage.name == name)
        mine = sum(row.self_us for row in rows if row.stage.name == name)
        saved += recurring_us_per_step(signals, name) * (min(1.0, mine / whole) if whole else 1.0)
    return part * saved * (signals.step_count or 0)


def starts_evidence(signals: Signals, saved_us: float) -> Iterator[Evidence]:
    """`saved_us`: of the window."""
    starts, each = recurring_starts(signals), signals.per_step(saved_us)
    whole = recurring_us_per_step(signals)
    if starts is not None and each and whole:
        at_each = duration(each / whole * starts.again_each_us)
        text = f"{duration(each)} per step of that is data wait at the starts of epochs, {at_each} at each"
        yield time(AT_STARTS, each, text, whole="step")


def at_starts_us(evidence: Iterable[Evidence]) -> float:
    """Per step, what the gain that this is evidence for has of it."""
    return sum(fact.value or 0.0 for fact in evidence if fact.kind == AT_STARTS)
