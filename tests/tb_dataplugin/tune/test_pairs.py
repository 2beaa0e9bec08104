from __future__ import annotations

import math

import numpy as np
import pytest

from tb_dataplugin.tune.pairs import LOOKS, is_decided, ratio_of


def test_equal_loops_look_different_in_about_one_of_twenty_searches() -> None:
    random = np.random.default_rng(3)
    wrong, searches = 0, 300
    for _ in range(searches):
        luck = random.normal(0, 0.01, 2) @ (1, -1)
        logs = (random.normal(0, 0.05, LOOKS[-1]) + luck).tolist()
        looks = [ratio_of(logs[:look], in_process=False) for look in LOOKS]
        wrong += any(ratio.is_faster or ratio.is_slower for ratio in looks)
    assert wrong <= 0.05 * searches + 2.5 * math.sqrt(0.05 * searches)  # what chance adds to this many


def test_a_large_difference_is_seen_in_three_pairs() -> None:
    ratio = ratio_of([math.log(0.5), math.log(0.52), math.log(0.48)], in_process=False)
    assert ratio.is_faster
    assert is_decided(ratio)
    assert ratio.low < 0.5 < ratio.high


def test_pairs_that_agree_exactly_still_have_an_interval() -> None:
    ratio = ratio_of([0.0, 0.0, 0.0], in_process=False)
    assert ratio.low < 1 < ratio.high
    assert ratio_of([0.0, 0.0, 0.0], in_process=True).low < ratio.low


@pytest.mark.parametrize(("slower", "expected"), [(1.5, True), (1.0, False)])
def test_a_slower_setting_is_told_from_an_equal_one(slower: float, expected: bool) -> None:
    logs = [math.log(slower) + shift for shift in (-0.01, 0.0, 0.01, 0.005, -0.005)]
    assert ratio_of(logs, in_process=False).is_slower is expected
