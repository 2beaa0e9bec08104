"""Stages that are blocked: a lock or a sleep is no other program, and CPU time does not show what became of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tb_dataplugin.compare.compared import Compared
from tb_dataplugin.compare.noise import typical_figure
from tb_dataplugin.compare.quantity import Quantity, StageCalls
from tb_dataplugin.compare.sides import Measure, Run, StageFigures, sharing, waiting
from tb_dataplugin.compare.stages import compare_stages
from tb_dataplugin.compare.verdict import judge
from tb_dataplugin.report import report_pb2 as pb

BLOCKS = 16


def figures(cpu_us: float, wall_us: float, waited: float | None) -> StageFigures:
    spread = 1 + 0.02 * np.sin(np.arange(BLOCKS) * 2.4)
    typical = {}
    measures: list[tuple[Measure, float]] = [("cpu", cpu_us), ("wall", wall_us)]
    for measure, us in measures:
        figure = typical_figure(us * spread, np.zeros(BLOCKS))
        assert figure is not None
        typical[measure] = figure
    return StageFigures(BLOCKS, BLOCKS * wall_us, typical, None if waited is None else waited * BLOCKS * wall_us)


@pytest.mark.parametrize(
    ("waited", "stretched"),
    [(0.0, 1.0), (0.2, 1.25), (None, 8.0)],  # where the wait was not recorded, all of it may have been that
)
def test_only_what_waits_for_a_cpu_counts_for_other_programs(waited: float | None, stretched: float) -> None:
    assert math.exp(sharing({"sample::Tiles": figures(2_000, 16_000, waited)})) == pytest.approx(stretched)


def test_time_that_sleeps_is_none_of_what_waiting_for_a_cpu_explains() -> None:
    """A stage of 2 ms waits for a CPU for half of it, beside one that sleeps for 18 ms: 1 ms of 20 is by waiting."""
    stages = {"transform::Blur": figures(1_000, 2_000, 0.5), "transform::Retry": figures(20, 18_000, 0.0)}
    assert math.exp(sharing(stages)) == pytest.approx(2.0)
    assert math.exp(waiting(stages)) == pytest.approx(20 / 19)
    total = Quantity("part", "time", "time", 20_000.0, 10_000.0, -0.5, None, "", "too_short")
    said = [
        judge(Compared("step", 1, (math.log(2), 0.0), False, "", total, (), (), (), waiting=of)).sentence
        for of in (None, (waiting(stages), 0.0))
    ]
    assert "two captures of the same program may differ by as much" in said[0]
    assert "2.0x as fast, about 7% of that by less waiting for a CPU" in said[1]


def run(cpu_us: float, wall_us: float, slower: float = 1.0) -> Run:
    """A stage beside another, which stays (or is `slower`)."""
    spread = (1 + 0.02 * np.sin(np.arange(BLOCKS) * 2.4)).tolist()

    def stage(label: str, cpu: float, wall: float) -> pb.Stage:
        return pb.Stage(
            kind="sample",
            label=label,
            path=[f"sample::{label}"],
            count=BLOCKS,
            self_us=BLOCKS * wall,
            block_count=[1] * BLOCKS,
            block_worker=[0] * BLOCKS,
            block_self_us=[wall * each for each in spread],
            block_cpu_us=[cpu * each for each in spread],
        )

    return Run(
        "run",
        (
            pb.Capture(
                mode="train", stages=[stage("Tiles", cpu_us, wall_us), stage("Same", slower * 900, slower * 1_000)]
            ),
        ),
    )


def test_a_blocked_stage_is_judged_by_wall_time_though_its_cpu_time_changed_more_surely() -> None:
    compared = compare_stages([run(2_000, 16_000)], [run(1_000, 9_000)], "", 0.1)
    tiles = next(stage for stage in compared if stage.name == "sample::Tiles")
    assert tiles.significant and tiles.calls is not None and tiles.calls.measure == "wall"
    assert tiles.before_us == pytest.approx(16_000, rel=0.01) and tiles.after_us == pytest.approx(9_000, rel=0.01)


@pytest.mark.parametrize(
    ("shared", "slower", "significant"),
    [(0.2, 1.5, False), (0.2, 1.0, True), (0.0, 1.5, True)],  # beside other programs, of that stage alone, undisturbed
)
def test_cpu_time_that_grew_beside_other_programs_as_that_of_others_did_is_no_change(
    shared: float, slower: float, significant: bool
) -> None:
    compared = compare_stages([run(6_000, 6_100)], [run(9_600, 9_700, slower)], "", shared)
    tiles = next(stage for stage in compared if stage.name == "sample::Tiles")
    assert tiles.significant == significant and tiles.calls is not None and tiles.calls.measure == "cpu"


def test_a_stage_with_none_beside_it_is_as_uncertain_by_cpu_time_as_by_wall_time() -> None:
    alone = [
        Run("run", (pb.Capture(mode="train", stages=run(us, us).captures[0].stages[:1]),)) for us in (6_000, 9_000)
    ]
    quiet, crowded = (compare_stages(alone[:1], alone[1:], "", shared)[0] for shared in (0.0, 0.3))
    assert quiet.significant and not crowded.significant


def test_the_sentence_leaves_out_stages_whose_change_is_little_beside_the_largest() -> None:
    def stage(name: str, moved_us: float) -> Quantity:
        calls = StageCalls(1.0, 1.0, moved_us, "wall", speed_adjusted=False)
        return Quantity("stage", name, name, 100.0, 50.0, -0.5, None, "", "faster", calls=calls)

    total = replace(stage("time", 0.0), kind="time", title="time", calls=None)
    stages = [stage("sample::Tiles", -1_000.0), stage("collate::default_collate", -50.0)]
    said = judge(Compared("sample", 1, None, False, "", total, (), stages, ())).sentence
    assert "sample::Tiles takes 50% less self time" in said and "collate" not in said
