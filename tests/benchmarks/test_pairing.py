"""How many pairs of windows a change is measured with, on windows that are made up."""

from __future__ import annotations

import itertools

import pytest

from benchmarks.counterfactual_pipelines.pairing import LEAST, MOST, UNCHANGED, half_width, measured_pairs, ratio
from benchmarks.neighbours import Neighbours


class Windows:
    """The unchanged loop takes 10 ms, always; `steps` has what the others take, one window after the other."""

    def __init__(self, **steps: list[float]) -> None:
        self.steps = {name: itertools.cycle(times) for name, times in steps.items()}
        self.asked: list[str] = []

    def __call__(self, change: str) -> float:
        self.asked.append(change)
        return 10.0 if change == UNCHANGED else next(self.steps[change])


def test_windows_that_agree_end_the_measurement_and_those_that_do_not_go_on() -> None:
    windows = Windows(steady=[5.0, 5.1], noisy=[5.0, 9.0])
    pairs = measured_pairs(windows, ["steady", "noisy"])
    assert len(pairs["steady"]) == LEAST
    assert len(pairs["noisy"]) == MOST
    assert windows.asked[:6] == [UNCHANGED, "steady", "noisy", "noisy", "steady", UNCHANGED]
    assert windows.asked.count(UNCHANGED) == MOST


def test_the_ratio_of_equal_pairs_is_certain() -> None:
    assert ratio([(10.0, 5.0)] * 3) == pytest.approx(0.5)
    assert half_width([(10.0, 5.0)] * 3) == pytest.approx(0.0)
    assert half_width([(10.0, 5.0), (10.0, 6.0), (10.0, 5.5)]) > 0.1


def test_work_of_its_own_is_no_neighbours() -> None:
    neighbours = Neighbours()
    sum(range(3_000_000))
    assert neighbours.share < 1.0
