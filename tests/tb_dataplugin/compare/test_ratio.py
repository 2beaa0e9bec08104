from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_dataplugin.compare.ratio import Mean, PartFigure, Ratio, part_figure, part_mean


def mean(value: float, error: float, freedom: float = 1e6) -> Mean:
    return Mean(value, ((error**2, freedom),))


def test_a_precise_ratio_has_the_interval_of_the_delta_method() -> None:
    bounds = Ratio(mean(100, 1), mean(50, 1)).bounds
    error = math.hypot(1 / 100, 0.5 / 100)
    assert bounds is not None
    assert (bounds.low, bounds.high) == pytest.approx((-0.5 - 1.96 * error, -0.5 + 1.96 * error), abs=1e-3)


def test_what_fell_to_nearly_nothing_is_bounded_by_nothing() -> None:
    bounds = Ratio(mean(69, 7), mean(1.4, 1)).bounds
    assert bounds is not None and bounds.low == -1 and -0.98 < bounds.high < -0.9


def test_what_rose_from_nearly_nothing_has_a_low_end_only() -> None:
    ratio = Ratio(mean(1.4, 1), mean(69, 7))
    assert ratio.bounds is not None and ratio.bounds.high == math.inf and ratio.bounds.low > 9
    assert ratio.probability < 1e-9


def test_nothing_at_all_has_no_change() -> None:
    ratio = Ratio(mean(0, 0), mean(5, 1))
    assert ratio.change is None and ratio.bounds is None and ratio.probability < 1e-5
    assert Ratio(mean(0, 0), mean(0, 0)).probability == 1


def test_without_variance_nothing_is_claimed() -> None:
    ratio = Ratio(Mean(10, None), mean(5, 0.1))
    assert (ratio.is_known, ratio.probability, ratio.bounds) == (False, 1, None) and ratio.change == -0.5


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.floats(0.01, 20), st.floats(0.01, 20), st.floats(2, 50))
def test_the_interval_excludes_no_change_exactly_where_it_is_significant(
    before: float, after: float, error_before: float, error_after: float, freedom: float
) -> None:
    """With one kind of noise on both sides; Satterthwaite's degrees of freedom are then those of every ratio."""
    ratio = Ratio(mean(before, error_before, freedom), mean(after, error_after, freedom))
    bounds = ratio.bounds
    assert bounds is not None and bounds.low <= (ratio.change or 0) <= bounds.high
    if abs(ratio.probability - 0.05) > 1e-6:
        assert (bounds.low > 0 or bounds.high < 0) == (ratio.probability < 0.05)


def test_runs_that_lie_near_each_other_by_chance_are_no_surer_than_their_steps() -> None:
    """Two runs of a side whose data wait has a standard error of 300 us by its steps, and a scatter of 110 us."""
    runs = [PartFigure(value, 2500.0, 300.0**2, 25) for value in (1800.0, 1960.0)]
    assert part_mean(runs, 0.0).variance > (0.6 * 300) ** 2 / 2


def test_the_interval_holds_the_truth_in_nineteen_of_twenty() -> None:
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        sides = [rng.normal(truth, 2, 8) for truth in (20, 6)]
        means = [Mean(float(x.mean()), ((float(x.var(ddof=1)) / 8, 7.0),)) for x in sides]
        bounds = Ratio(*means).bounds
        held += bounds is not None and bounds.low <= 6 / 20 - 1 <= bounds.high
    assert held >= 372  # 380 less 2 standard errors


def test_one_run_is_uncertain_by_what_runs_differ_by_at_most_half_of_it() -> None:
    steady = np.full(8, 50.0)
    large, small = part_figure(50, 100, steady), part_figure(1, 100, steady / 50)
    assert part_mean([large], 0).variance == pytest.approx(3.0**2)
    assert part_mean([small], 0).variance == pytest.approx(0.5**2)


def test_repeated_runs_that_scatter_more_replace_the_assumption() -> None:
    runs = [part_figure(value, 100, np.full(8, value)) for value in (30.0, 50.0, 70.0)]
    assert part_mean(runs, 0).variance == pytest.approx(20.0**2 / 3)


def test_sums_without_steps_are_known_from_repeated_runs() -> None:
    runs = [part_figure(value, 100, np.empty(0)) for value in (10.0, 11.0)]
    assert part_mean(runs[:1], 0).terms is None and part_mean(runs, 0).variance > 0
