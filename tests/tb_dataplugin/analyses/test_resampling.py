from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.analyses.resampling import blocks, interval, with_resamples


def test_few_times_of_which_most_are_nothing_resample_to_none_below_nothing() -> None:
    times = np.array([351, 0, 0, 2, 297, 0, 0, 0, 317], dtype=np.float64)
    found = with_resamples(times, blocks(np.random.default_rng(0), len(times)))
    assert found.min() >= 0 and found[0] == pytest.approx(times.mean())
    assert interval(found).high > 1.5 * times.mean()


def test_times_that_differ_little_are_spread_by_what_students_t_has() -> None:
    times = np.arange(1000, 1010, dtype=np.float64)
    rows = blocks(np.random.default_rng(0), len(times))
    plain, spread = times[rows].mean(axis=1) - times.mean(), with_resamples(times, rows)[1:] - times.mean()
    assert spread == pytest.approx(plain * np.sqrt(1 + 1 / 9) * (1 + 1.21 / 9), abs=0.01)


def test_no_time_at_all_has_no_interval_to_speak_of() -> None:
    nothing = np.zeros(9)
    assert with_resamples(nothing, blocks(np.random.default_rng(0), 9)).tolist() == [0.0] * 401
