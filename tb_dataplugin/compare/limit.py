"""Whether a run is slower than another by more than a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tb_dataplugin.report.report_pb2 import Comparison
from tb_dataplugin.units import magnitude


@dataclass(frozen=True, slots=True)
class Judged:
    """`sentence`: why, where the outcome is not "fine"."""

    outcome: Literal["fine", "slower", "inconclusive"]
    sentence: str = ""


def judge_limit(comparison: Comparison, allowed: float) -> Judged:
    """`allowed`: growth of the time, 0.05 for 5%. Slower only where that is significant; fine only where even the upper
    end of the 95% interval is within the limit.
    """
    if comparison.outcome == "identical":
        return Judged("fine")
    time, limit = comparison.time, magnitude(allowed)
    if comparison.outcome == "slower" and time.change > allowed:
        text = f"slower by {magnitude(time.change)} per {comparison.unit}, more than the {limit} allowed"
        return Judged("slower", text)
    why = _why_inconclusive(comparison, allowed)
    return Judged("inconclusive", f"slower by more than {limit}? Inconclusive: {why}") if why else Judged("fine")


def _why_inconclusive(comparison: Comparison, allowed: float) -> str:
    time = comparison.time
    if comparison.outcome in ("unknown", "not_comparable", "too_short"):
        return comparison.sentence
    if time.HasField("high") and time.high <= allowed:
        return ""
    return f"the 95% interval is {time.interval_text}; capture more runs on each side, or longer ones"
