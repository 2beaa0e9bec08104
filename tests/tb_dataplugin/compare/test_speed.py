"""Stages beside the machine's speed: what may be said of one that follows it in its own way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.compare import stages
from tb_dataplugin.compare.noise import Change, Figure, change
from tb_dataplugin.compare.quantity import SIGNIFICANT
from tb_dataplugin.compare.sides import Measure, StageFigures
from tb_dataplugin.compare.speed import Speed, change_beside, speed_by

STEADY = Speed(np.array([-0.02, 0.0, 0.02]), np.array([-0.02, 0.0, 0.02]), 0.005)


def figures(*values: float) -> list[Figure]:
    return [Figure(value, 1e-6, 20) for value in values]


def beside(before: list[Figure], after: list[Figure], speed: Speed) -> Change:
    found = change_beside(before, after, speed)
    assert found is not None and found.error is not None
    return found


def test_a_scatter_far_beyond_what_is_assumed_counts_in_full() -> None:
    """Neither side follows the speed, so nothing explains why its runs differ."""
    found = beside(figures(0.1, -0.2, 0.1), figures(-0.1, -0.4, -0.1), STEADY)
    assert found.error == pytest.approx(math.sqrt(0.12 / 3 * 2 / 3), rel=0.02)
    assert found.probability > 0.1


def test_runs_that_lie_near_each_other_by_chance_are_no_surer_than_their_batches() -> None:
    sides = [[replace(one, variance=0.1**2) for one in figures(*values)] for values in ((0.0, 0.03), (0.1, 0.13))]
    near = [[*side, replace(side[0], value=side[0].value + 0.015)] for side in sides]
    assert (beside(near[0], near[1], STEADY).error or 0) > 0.05


def test_other_stages_that_disagree_show_the_speed_less_well() -> None:
    rng = np.random.default_rng(0)
    alike, unlike = (speed_by(rng.normal(0, luck, (6, 5)), 3).noise for luck in (0.01, 0.1))
    assert alike < 0.01 < 0.02 < unlike
    sides = figures(0.0, 0.001, 0.002), figures(0.05, 0.051, 0.052)
    speeds = [Speed(STEADY.before, STEADY.after, noise) for noise in (0.0, 0.05)]
    errors = [beside(*sides, speed).error or 0 for speed in speeds]
    assert errors[1] > 2 * errors[0]


def test_a_stage_that_follows_more_than_can_be_allowed_for_stays_uncertain() -> None:
    speed = Speed(np.array([0.0, 0.1, 0.2]), np.array([0.1, 0.2, 0.3]), 0.005)
    found = beside(figures(0.0, 0.3, 0.6), figures(0.3, 0.6, 0.9), speed)
    assert found.value == pytest.approx(0.15, abs=0.01) and found.probability > 0.2


def test_a_plain_change_no_larger_than_that_of_the_machine_is_none() -> None:
    sides = figures(0.0, 0.001, 0.002), figures(0.3, 0.301, 0.302)
    assert change(*sides, 0.04).probability < 0.01
    assert change(*sides, 0.04, drift=0.3).probability > 0.1


def test_a_machine_of_another_speed_is_told_from_one_that_varies() -> None:
    apart, varies = (Speed(STEADY.before, STEADY.after + moved, 0.005) for moved in (0.5, 0.05))
    assert apart.differs and not varies.differs
    assert change_beside(figures(0, 0, 0), figures(0, 0, 0), apart) is None


class Run:
    """As far as stages need it."""

    mode = "train"
    captures = ()

    def __init__(self, logs: Mapping[str, float]) -> None:
        self.stages = {
            name: StageFigures(200, 200 * math.exp(log), dict.fromkeys(("cpu", "wall"), Figure(log, 1e-4, 20, 0.01)))
            for name, log in logs.items()
        }

    def units(self, _: str) -> float:
        return 100.0


PHOTOS = {  # us per call, how much more it follows the machine's speed than others, luck
    "transform::RandomMask": (15000, 1.0, 0.02), "decode::PIL.Image": (5000, 1.0, 0.02),
    "transform::PILToTensor": (1300, 2.2, 0.08), "transform::ConvertColor": (1200, 1.2, 0.05),
    "transform::Scale": (250, 1.3, 0.06), "transform::RandomCrop": (150, 0.8, 0.04),
    "collate::default": (300, 1.2, 0.08), "read::file": (40, 0.6, 0.06),
}  # fmt: skip


def test_where_one_stage_changed_no_other_is_named_on_a_machine_whose_speed_varies(
    monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    rng = np.random.default_rng(30)

    def runs(factor: float) -> list[Run]:
        speeds = np.log(rng.uniform(1, 1.5, 3))
        return [
            Run({
                name: math.log(us * (factor if name == "transform::RandomMask" else 1))
                + follows * speed + luck * rng.standard_normal()
                for name, (us, follows, luck) in PHOTOS.items()
            })
            for speed in speeds
        ]  # fmt: skip

    monkeypatch.setattr(stages, "of_like_batches", lambda *sides: [[run.stages for run in side] for side in sides[:2]])
    others, found, count = 0, 0, 600 if thorough else 200
    for _ in range(count):
        rows = stages.compare_stages(runs(1), runs(1.1), "step", 0.05)  # type: ignore[arg-type]
        named = {row.name for row in rows if row.outcome in SIGNIFICANT}
        found += "transform::RandomMask" in named
        others += bool(named - {"transform::RandomMask"})
    assert others <= 0.04 * count and found >= 0.5 * count


VARIED = (0.06, 0.16, 0.19), (-0.26, -0.24, 0.01)
"""The speeds of a stranger's runs: two of three after were on a machine a quarter faster."""


@pytest.mark.parametrize(("factor", "follows", "is_named"), [(1.0, 0.0, False), (2.2, 0.0, True), (1.0, 1.0, False)])
def test_a_stage_that_sleeps_does_not_follow_the_machine_and_one_that_waits_for_a_child_process_does(
    factor: float, follows: float, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(31)

    def run(speed: float, times: float) -> Run:
        made = Run({
            name: math.log(us) + speed + 0.02 * rng.standard_normal() for name, (us, _, _) in PHOTOS.items()
        })  # fmt: skip
        wall = math.log(6000 * times) + follows * speed + 0.005 * rng.standard_normal()
        own: dict[Measure, Figure] = {
            "cpu": Figure(math.log(800) + speed, 1e-4, 20, 0.01),
            "wall": Figure(wall, 1e-4, 20, 0.01),
        }
        waited = 0.2 if speed == VARIED[1][0] else 0.0
        made.stages = {
            name: replace(one, waited_us=waited * one.self_us)
            for name, one in (made.stages | {"collate::Pad": StageFigures(200, 200 * math.exp(wall), own)}).items()
        }
        return made

    monkeypatch.setattr(stages, "of_like_batches", lambda *sides: [[run.stages for run in side] for side in sides[:2]])
    named = 0
    for _ in range(40):
        before, after = [run(speed, 1.0) for speed in VARIED[0]], [run(speed, factor) for speed in VARIED[1]]
        rows = stages.compare_stages(before, after, "step", 0.7)  # type: ignore[arg-type]
        named += next(row for row in rows if row.name == "collate::Pad").outcome in SIGNIFICANT
    assert named >= 38 if is_named else named <= 2
