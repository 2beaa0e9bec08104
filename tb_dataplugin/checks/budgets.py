"""Data wait and samples per second of captures, with what the steps say of their noise, against a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from tb_dataplugin.compare import student
from tb_dataplugin.compare.noise import LEAST_BLOCKS, SHOWN, Floats, inflation, mean_figure
from tb_dataplugin.compare.sides import step_blocks
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import percent, plural, significant

Outcome = Literal["within", "exceeded", "inconclusive"]
NO_INTERVAL: Final = "too few steps for an interval"


@dataclass(frozen=True, slots=True)
class Value:
    """With the ends of its 95% interval, None where the noise is not known."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """One budget, judged; `sentence` has the measured value, the budget and the interval."""

    outcome: Outcome
    sentence: str


def check_data_wait(captures: Sequence[pb.Capture], budget: float) -> Checked:
    """`budget`: the largest share of the windows' time. Raises NothingToReport where the data wait is not known."""
    measured = data_wait_share(captures)
    outcome = _judge(measured, budget, is_most=True)
    spread = (
        "" if measured.low is None or measured.high is None else _range(percent(measured.low), percent(measured.high))
    )
    said = f"data wait is {percent(measured.value)} of the time, budget {percent(budget)}"
    return Checked(outcome, f"{said} ({spread or NO_INTERVAL}, {_steps(captures)})")


def check_rate(captures: Sequence[pb.Capture], budget: float) -> Checked:
    """`budget`: the fewest samples per second. Raises NothingToReport where the number of samples is not known."""
    measured = samples_per_s(captures)
    outcome = _judge(measured, budget, is_most=False)
    spread = ""
    if measured.low is not None and measured.high is not None:
        spread = _range(significant(measured.low), significant(measured.high))
    said = f"{significant(measured.value)} samples/s, budget {significant(budget)}"
    return Checked(outcome, f"{said} ({spread or NO_INTERVAL}, {_steps(captures)})")


def data_wait_share(captures: Sequence[pb.Capture]) -> Value:
    """Of all windows together; the interval is that of a ratio of means over blocks of steps."""
    if not all(capture.HasField("loader") and capture.window_us for capture in captures):
        raise NothingToReport(f"the data wait is not known: {_why(captures, 'loader')}")
    share = sum(capture.loader.wait_us for capture in captures) / sum(capture.window_us for capture in captures)
    if not all(step.HasField("data_wait_us") for capture in captures for step in capture.steps.items):
        return Value(share)
    waits = np.concatenate([step_blocks(capture, lambda step: step.data_wait_us) for capture in captures])
    lengths = np.concatenate([step_blocks(capture) for capture in captures])
    half = _half_width(waits - share * lengths, lengths)
    return Value(share) if half is None else Value(share, max(0.0, share - half), min(1.0, share + half))


def _half_width(off: Floats, lengths: Floats) -> float | None:
    if len(lengths) < LEAST_BLOCKS or not lengths.mean():
        return None
    variance = float(off.var(ddof=1)) / len(off) * inflation(off)
    return student.critical(SHOWN, len(off) - 1) * math.sqrt(variance) / float(lengths.mean())


def samples_per_s(captures: Sequence[pb.Capture]) -> Value:
    """Of all windows together; the interval is that of the mean step."""
    if any(capture.throughput.item == "batch" for capture in captures):
        raise NothingToReport("samples/s are not known: how many samples a batch has was not recorded")
    if not all(capture.throughput.HasField("samples") and capture.window_us for capture in captures):
        raise NothingToReport(f"samples/s are not known: {_why(captures, 'throughput')}")
    samples = sum(capture.throughput.samples for capture in captures)
    rate = samples / sum(capture.window_us for capture in captures) * 1e6
    step = mean_figure(np.concatenate([step_blocks(capture) for capture in captures]))
    if step is None or step.variance is None:
        return Value(rate)
    factor = math.exp(student.critical(SHOWN, step.freedom) * math.sqrt(step.variance))
    return Value(rate, rate / factor, rate * factor)


def _judge(measured: Value, budget: float, is_most: bool) -> Outcome:
    """Where there is no interval, the value decides."""
    low = measured.value if measured.low is None else measured.low
    high = measured.value if measured.high is None else measured.high
    if not is_most:
        low, high, budget = -high, -low, -budget
    if high <= budget:
        return "within"
    return "exceeded" if low > budget else "inconclusive"


def _range(low: str, high: str) -> str:
    return f"95% interval {low} to {high}"


def _steps(captures: Sequence[pb.Capture]) -> str:
    return plural(sum(capture.steps.count for capture in captures), "step")


def _why(captures: Sequence[pb.Capture], topic: str) -> str:
    """What the report says of it, in one line."""
    reasons = [note.message for capture in captures for note in capture.diagnostics if note.topic == topic]
    return reasons[0] if reasons else "loop over prof.steps(loader)"
