from __future__ import annotations

import math

import pytest

from tb_dataplugin.compare.quantity import Bounds, Interval, Judged, judge_change, said_limit

WIDE = "too short to compare"


@pytest.mark.parametrize(
    ("kind", "value", "bounds", "significant", "said"),
    [
        ("time", -0.2, Bounds(-0.3, -0.1), True, Judged(Interval(-0.3, -0.1), "−30% to −10%", "faster")),
        ("part", -0.2, Bounds(-0.3, -0.1), True, Judged(Interval(-0.3, -0.1), "−30% to −10%", "less")),
        ("stage", 0.2, Bounds(0.1, 0.3), True, Judged(Interval(0.1, 0.3), "+10% to +30%", "slower")),
        ("part", 0.2, Bounds(-0.1, 0.5), False, Judged(Interval(-0.1, 0.5), "−10% to +50%", "not_significant")),
        ("time", 9.0, Bounds(3.0, 30.0), True, Judged(Interval(3.0, None), "at least +300%", "slower")),
        ("part", 9.0, Bounds(3.0, math.inf), True, Judged(Interval(3.0, None), "at least +300%", "more")),
        ("time", 0.3, Bounds(-1.0, 163.93), False, Judged(None, WIDE, "too_short")),
        ("time", 0.3, Bounds(-0.9, 1.2), False, Judged(None, WIDE, "too_short")),
        ("stage", 0.3, None, False, Judged(None, WIDE, "too_short")),
    ],
)  # fmt: skip
def test_an_interval_is_said_where_it_says_something(
    kind: str, value: float, bounds: Bounds | None, significant: bool, said: Judged
) -> None:
    assert judge_change(kind, value, bounds, significant, same=False) == said  # type: ignore[arg-type]


def test_equal_numbers_are_identical_however_noisy() -> None:
    assert judge_change("time", 0, Bounds(-1, 100), False, same=True) == Judged(None, "identical", "identical")


def test_a_limit_beyond_all_use_is_none() -> None:
    assert said_limit(None) is None and said_limit(math.log(2.1)) is None
    assert said_limit(math.log(1.5)) == pytest.approx(0.5)
