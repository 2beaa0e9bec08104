"""Whether a comparison stays within the slowdown that is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tb_dataplugin.compare.crowded import is_crowded
from tb_dataplugin.compare.cut_off import is_cut_off
from tb_dataplugin.compare.quantity import SIGNIFICANT
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import change, listed, magnitude


class Judgement(NamedTuple):
    """`sentence` says what was asked, and why."""

    outcome: Literal["fine", "slower", "inconclusive"]
    sentence: str


def judge_limit(comparison: pb.Comparison, allowed: float) -> Judgement:
    """`allowed`: the largest relative growth of the time per sample or step, 0.05 for 5%. Waits for other DataLoaders
    are not in that time: how often steps have them, windows show by chance.
    """
    judged = _judge_time(comparison, allowed)
    if comparison.outcome in ("identical", "not_comparable") or not comparison.other_loaders:
        return judged
    return judged._replace(sentence=f"{judged.sentence.removesuffix('.')}. {_not_judged(comparison.other_loaders)}")


def _not_judged(others: Sequence[pb.Quantity]) -> str:
    """``Not judged: waits for the other DataLoader of Pets (less, −61%)``"""
    names = [
        f"{other.title}{f' ({other.outcome}, {change(other.change)})' if other.outcome in SIGNIFICANT else ''}"
        for other in others
    ]
    return f"Not judged: waits for {listed(names)}"


def _judge_time(comparison: pb.Comparison, allowed: float) -> Judgement:
    limit, time = magnitude(allowed), comparison.time
    per = time.title.removeprefix("time ") or f"per {comparison.unit}"  # "per sample within an epoch"
    asked = f"slower by more than {limit}?"
    if comparison.outcome == "identical":
        return Judgement("fine", f"{asked} No, identical")
    if is_cut_off(comparison):  # its sentence says so
        return Judgement("inconclusive", f"{asked} Inconclusive. {comparison.sentence}")
    if comparison.outcome == "slower" and time.change > allowed:
        by = magnitude(time.change)
        if is_crowded(comparison):
            why = "but other programs used the CPUs meanwhile; capture on a quieter machine"
            return Judgement("inconclusive", f"{asked} Inconclusive. Slower by {by} {per}, {why}")
        return Judgement("slower", f"slower by {by} {per}, more than the {limit} allowed")
    if comparison.outcome in ("unknown", "not_comparable") or time.outcome == "too_short":  # its sentence says so
        return Judgement("inconclusive", f"{asked} {comparison.sentence}")
    if not (time.HasField("high") and time.high <= allowed):
        why = f"The 95% interval is {time.interval_text}; capture more runs on each side, or longer ones"
        return Judgement("inconclusive", f"{asked} Inconclusive. {why}")
    return Judgement("fine", f"{asked} No, the 95% interval is {time.interval_text}")


def share_of(text: str) -> float:
    """``"5%" -> 0.05``. Raises ValueError, whose message says how to write it."""
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not text.endswith("%") or not 0 <= value < 1000:
        raise ValueError(f"{text!r} is not a percentage; write it like 5%")
    return value
