"""A quantity on both sides, and what can be said of its change: one record for the time, its parts and the stages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from tb_dataplugin.units import TOO_WIDE, WIDEST_INTERVAL, change, interval, is_too_wide

Kind = Literal["time", "part", "data_wait_by_stage", "stage", "other_loader"]
Outcome = Literal[
    "faster", "slower", "more", "less", "not_significant", "too_short", "identical", "new", "gone", "unknown"
]

SIGNIFICANT: Final[tuple[Outcome, ...]] = ("faster", "slower", "more", "less")
COME_AND_GONE: Final[tuple[Outcome, ...]] = ("new", "gone")
CERTAIN: Final[tuple[Outcome, ...]] = (*SIGNIFICANT, *COME_AND_GONE)
UNTOLD: Final[tuple[Outcome, ...]] = ("too_short", "unknown")
INNER: Final = 1.28 / 1.96
"""What an interval of 80% is of one of 95%, by standard errors; of few runs it is less."""
IDENTICAL: Final = "identical"
NONE_BEFORE: Final = "none before"
NONE_AFTER: Final = "none after"
CAUSED_NONE_AFTER: Final = "caused none after"
"""Of the data wait of what is still there."""
NOT_RECORDED: Final = "not recorded"
NOT_IN_ALL: Final = "not recorded in every run"
TOO_FEW: Final = "too few samples"
"""In some run at least."""
TOO_FEW_STEPS: Final = "too few such steps to compare"
"""Of a DataLoader that is iterated inside some steps, on one side at least."""
NEEDS_RUNS: Final = "needs repeated runs"
"""Of what a capture has as a sum only: nothing in it shows how much the sum varies."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Ends of a 95% interval, relative to before. The high one may be infinite: nothing is known of it."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Interval:
    """What of the bounds is worth saying. `high` is None where only the least change is."""

    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class StageCalls:
    """Of a stage: calls per unit, change of its self time per unit (us), and what its change was measured by. `error`:
    standard error of the logarithm of after / before calls, by how batches differ. `in_sample`: the stage runs
    within samples. `per_sample`: its times are not per call, but per sample of the batch that it is called for.
    """

    before: float | None
    after: float | None
    change_us: float | None
    measure: Literal["cpu", "wall", ""]
    speed_adjusted: bool
    error: float = 0.0
    in_sample: bool = True
    per_sample: bool = False


@dataclass(frozen=True, slots=True)
class Quantity:
    """Times in us, per unit or (of a stage, see `StageCalls`) per call; None: not known, or not there. Changes are
    relative to before.

    `interval_text` says why there is no interval, where there is none. `detectable`: the smallest increase that would
    have been significant; None where the sides are identical or too short.
    """

    kind: Kind
    name: str
    title: str
    before_us: float | None
    after_us: float | None
    change: float | None
    interval: Interval | None
    interval_text: str
    outcome: Outcome
    detectable: float | None = None
    calls: StageCalls | None = None

    @property
    def significant(self) -> bool:
        return self.outcome in SIGNIFICANT

    @property
    def leans(self) -> bool:
        """Whether no change lies outside of the inner part of the interval: of as many runs, an interval of 80% would
        not have it. The same if before and after change places.
        """
        ends = self.interval
        if self.change is None or ends is None or ends.high is None or ends.low <= -1:
            return False
        low, high, value = (math.log1p(each) for each in (ends.low, ends.high, self.change))
        return abs(value) > INNER * (high - low) / 2

    @property
    def is_vague_swapped(self) -> bool:
        """Whether there would be no interval of the same change if before and after changed places: "−70% to +7%" is
        "−7% to +233%" then.
        """
        ends = self.interval
        if self.significant or ends is None or ends.high is None:
            return False
        return ends.low <= -1 or is_too_wide(-ends.high / (1 + ends.high), -ends.low / (1 + ends.low))


def surest_first(quantities: Iterable[Quantity]) -> list[Quantity]:
    """Significant changes, and what came or went; what has an interval, or is identical; what nothing can be said of.

    Within each the order stays.
    """
    return sorted(quantities, key=lambda one: 2 if one.outcome in UNTOLD else one.outcome not in CERTAIN)


@dataclass(frozen=True, slots=True)
class Judged:
    interval: Interval | None
    text: str
    outcome: Outcome


def judge_change(kind: Kind, value: float, bounds: Bounds | None, significant: bool, same: bool) -> Judged:
    """What is said of a change by `value`: its interval, or that the captures are too short for one.

    An interval wider than 100% either way is never said; of a significant increase its low end still is.
    """
    if same:
        return Judged(None, IDENTICAL, "identical")
    spoken, text = _spoken(bounds, significant)
    if significant:
        return Judged(spoken, text, _direction(kind, value))
    return Judged(spoken, text, "too_short" if spoken is None else "not_significant")


def _spoken(bounds: Bounds | None, significant: bool) -> tuple[Interval | None, str]:
    if bounds is not None and not is_too_wide(bounds.low, bounds.high):
        return Interval(bounds.low, bounds.high), interval(bounds.low, bounds.high)
    if bounds is not None and significant and bounds.low > 0:
        return Interval(bounds.low, None), f"at least {change(bounds.low)}"
    return None, TOO_WIDE


def _direction(kind: Kind, value: float) -> Outcome:
    if kind in ("time", "stage"):
        return "slower" if value > 0 else "faster"
    return "more" if value > 0 else "less"


def said_limit(reach: float | None) -> float | None:
    """The smallest detectable change that `reach` (a logarithm) is, where it is small enough to be worth saying."""
    limit = math.inf if reach is None else math.expm1(reach)
    return limit if limit <= WIDEST_INTERVAL else None
