from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tb_dataplugin.compare import student
from tb_dataplugin.compare.noise import Figure, change, holm, mean_figure, typical_figure


@pytest.mark.parametrize(
    "t, freedom, probability",
    [(12.706, 1, 0.05), (4.303, 2, 0.05), (2.776, 4, 0.05), (2.228, 10, 0.05), (3.747, 4, 0.02), (1.962, 1e6, 0.05)],
)
def test_student_is_that_of_the_tables(t: float, freedom: float, probability: float) -> None:
    assert student.two_sided(t, freedom) == pytest.approx(probability, abs=1e-4)
    assert student.critical(probability, freedom) == pytest.approx(t, rel=1e-3)


def test_a_block_in_which_another_program_had_the_core_does_not_move_the_typical_one() -> None:
    calm = np.full(20, 100.0) + np.arange(20.0) % 3
    disturbed = calm.copy()
    disturbed[[3, 11]] = 9000
    workers = np.zeros(20)
    quiet, loud = typical_figure(calm, workers), typical_figure(disturbed, workers)
    assert quiet is not None and loud is not None
    assert loud.value == pytest.approx(quiet.value, abs=0.01)


def rarely_slow(rng: np.random.Generator, share: float, batches: int, typical: float = 40.0) -> Figure:
    """Batches of 16 calls, of which a share takes 60 ms."""
    slow = rng.binomial(16, share, batches) * 60_000.0
    found = typical_figure((rng.normal(typical, 3, (batches, 16)).sum(1) + slow) / 16, np.zeros(batches))
    assert found is not None
    return found


@pytest.mark.parametrize("batches", [8, 13, 24])
@pytest.mark.parametrize("share", [1 / 97, 1 / 30])
def test_how_many_batches_have_a_slow_call_by_chance_is_no_change(batches: int, share: float) -> None:
    rng = np.random.default_rng(4)
    pairs = [([rarely_slow(rng, share, batches)], [rarely_slow(rng, share, batches)]) for _ in range(200)]
    assert sum(change(*pair, 0.04).probability < 0.02 for pair in pairs) <= 4


NEAR = ([2.18, 1.56, 1.47], [0.39, 0.52, 0.38]), ([3.03, 2.73, 2.61], [0.40, 0.44, 0.42])
"""Per side, what a typical batch took (ms) in three runs of one program, and the standard error of its logarithm by the
batches of each run: one read of twenty takes 60 ms, and a third of the batches have such a read."""


def test_runs_that_lie_near_each_other_by_chance_are_no_surer_than_their_batches() -> None:
    sides = [[Figure(math.log(ms), error**2, 25) for ms, error in zip(*side, strict=True)] for side in NEAR]
    found = change(sides[0], sides[1], 0.04)
    assert found.probability > 0.05 and found.bounds is not None and found.bounds.low < 0
    assert found.error == pytest.approx(0.43 * math.sqrt(2 / 3), rel=0.25)


def test_runs_that_differ_by_more_than_their_batches_show_it_alone() -> None:
    sides = [[Figure(value, 0.01**2, 25) for value in side] for side in ((0.0, 0.3, -0.3), (0.1, 0.4, -0.2))]
    assert change(sides[0], sides[1], 0.04).error == pytest.approx(0.3 * math.sqrt(2 / 3), rel=0.01)


def test_a_little_more_scatter_makes_no_interval_much_smaller() -> None:
    """There is no scatter from which the batches suddenly have no say."""

    def error(scatter: float) -> float:
        runs = [Figure(scatter * place, 0.4**2, 25) for place in (-1, 0, 1)]
        return change(runs, runs, 0.04).error or 0.0

    errors = [error(scatter) for scatter in np.linspace(0, 0.8, 81)]
    assert all(larger > smaller - 1e-9 for smaller, larger in itertools.pairwise(errors))


def test_calls_that_were_slow_in_one_of_twenty_and_no_longer_are_a_change() -> None:
    rng = np.random.default_rng(5)
    pairs = [([rarely_slow(rng, 1 / 20, 64)], [rarely_slow(rng, 0, 64)]) for _ in range(50)]
    found = [change(*pair, 0.04) for pair in pairs]
    assert sum(each.value < 0 and each.probability < 0.02 for each in found) >= 48


def test_rare_slow_calls_do_not_hide_that_all_others_changed() -> None:
    rng = np.random.default_rng(6)
    pairs = [([rarely_slow(rng, 1 / 800, 24)], [rarely_slow(rng, 1 / 800, 24, 60.0)]) for _ in range(50)]
    assert sum(change(*pair, 0.04).probability < 0.02 for pair in pairs) >= 45


def test_too_few_blocks_have_no_variance_and_single_runs_then_no_noise() -> None:
    few = mean_figure(np.array([1.0, 2.0, 3.0]))
    assert few is not None and few.variance is None
    assert change([few], [few], 0.03).error is None
    assert change([few] * 2, [few] * 2, 0.03).error is not None


def test_blocks_that_are_like_their_neighbours_are_worth_fewer() -> None:
    slow_wave = 100 + 10 * np.sin(np.arange(40) / 6)
    shuffled = np.random.default_rng(0).permutation(slow_wave)
    wave, independent = mean_figure(slow_wave), mean_figure(shuffled)
    assert wave is not None and independent is not None
    assert (wave.variance or 0) > 3 * (independent.variance or 0)


def test_workers_that_differ_widen_the_luck_of_a_stage() -> None:
    workers = np.repeat([0.0, 1.0], 10)
    noise = np.random.default_rng(0).normal(0, 1, 20)
    alike, apart = 100 + noise, np.where(workers == 0, 80, 120) + noise
    figures = [typical_figure(blocks, workers) for blocks in (alike, apart)]
    assert figures[0] is not None and figures[0].luck < 0.01
    assert figures[1] is not None and figures[1].luck == pytest.approx(math.log(1.5) / 2, rel=0.02)


def test_repeated_runs_replace_the_assumption() -> None:
    rng = np.random.default_rng(0)

    def runs(count: int, spread: float) -> list[Figure]:
        return [Figure(float(value), 1e-6, 9) for value in rng.normal(0, spread, count)]

    assumed = change([Figure(0, 1e-6, 9)], [Figure(0, 1e-6, 9)], 0.04)
    assert assumed.error == pytest.approx(0.04 * math.sqrt(2), rel=0.01)
    per_run = [change(runs(20, spread), runs(20, spread), 0.04).error or 0 for spread in (0.01, 0.2)]
    assert per_run[0] < 0.25 * (assumed.error or 0) < (assumed.error or 0) < per_run[1] * 2


def test_holm_gives_each_difference_its_part_of_the_alarm() -> None:
    assert holm([0.01, 0.02, 0.9], [0.8, 0.1, 0.1], 0.03) == [True, False, False]
    assert holm([0.01, 0.02, 0.9], [0.8, 0.15, 0.05], 0.03) == [True, True, False]
    assert holm([], [], 0.03) == []


def test_what_neighbours_do_fades_with_repeated_runs() -> None:
    def error(count: int) -> float:
        runs = [Figure(0.0, 1e-6, 9)] * count
        return change(runs, runs, 0.03, shared=1.0).error or 0.0

    assert error(1) > 1.4
    assert error(5) < error(1) / 5
