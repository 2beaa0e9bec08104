"""How counterfactual runs are judged, on gains and reports that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.counterfactual_pipelines import PIPELINES
from benchmarks.counterfactual_pipelines.judging import Judged, Pairs, judge, markdown
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed


def never(_: Removed) -> Loop:
    raise AssertionError


def judged(
    gains: dict[str, float], waits: dict[str, float], said: str, *, noise: float = 0.1, bounds: dict[str, float]
) -> Judged:
    """Steps of 20 ms; `gains` by part, each with the same noise around it, `waits` per step."""
    wobble = [-noise, 0.0, noise, 0.0]
    times = {"": [20.0] * 4} | {
        part: [20.0 - gain + (place % 2 * 2 - 1) * off for off in wobble]
        for place, (part, gain) in enumerate(gains.items())
    }
    report: dict[str, Any] = {
        "steps": {"count": 10},
        "loader": {"wait_by_stage_us": {stage: wait * 1e4 for stage, wait in waits.items()}},
        "verdict": {"bound": "cpu", "sentence": f"It waits, most of it for {said} (60.0% of the data wait)."},
        "findings": [{"stage": stage, "gain_us_per_step": bound * 1e3} for stage, bound in bounds.items()],
    }
    return judge(Pipeline("made_up", "tune", tuple(gains), never), {"times_ms": times, "report": report})


def test_the_same_order_is_a_tau_of_one() -> None:
    found = judged(
        {"transform::A": 9.0, "transform::B": 4.0, "transfer": 1.0},
        {"transform::A": 6.0, "transform::B": 3.0, "transfer::queue": 0.2, "transfer::serialise": 0.2},
        "transform::A",
        bounds={"transform::A": 10.0},
    )
    assert found.pairs == Pairs(same=3)
    assert found.pairs.tau_b == 1
    assert found.names_best and found.strictly_best and found.agree
    assert found.bounds == {"transform::A": (10.0, False)}


def test_gains_within_the_noise_tie_and_a_wait_that_differs_by_more_counts_against_the_rule() -> None:
    found = judged(
        {"transform::A": 5.0, "transform::B": 5.2, "transform::C": 1.0},
        {"transform::A": 6.0, "transform::B": 2.0, "transform::C": 0.1},
        "transform::A",
        noise=0.5,
        bounds={},
    )
    assert found.pairs == Pairs(same=2, tied_gain=1)
    assert found.pairs.tau_b == pytest.approx(2 / (2 * 3) ** 0.5)
    assert found.names_best


def test_naming_the_wrong_stage_and_a_bound_that_is_too_low_are_seen() -> None:
    found = judged(
        {"transform::A": 9.0, "transfer": 1.0},
        {"transform::A": 2.0, "transfer": 7.0},
        "transfer",
        bounds={"transform::A": 5.0, "transfer::queue": 2.0},
    )
    assert found.pairs == Pairs(other=1)
    assert found.pairs.tau_b == -1
    assert found.names_best is False and not found.agree
    assert found.bounds == {"transform::A": (5.0, True), "transfer": (2.0, False)}
    assert "reversed" in markdown([found])


@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")
def test_every_pipeline_can_be_built_without_each_of_its_parts() -> None:
    for pipeline in PIPELINES.values():
        for part in ("", *pipeline.parts):
            assert pipeline.build(frozenset({part})).step_ms > 0
    assert {pipeline.group for pipeline in PIPELINES.values()} == {"tune", "judge", "third", "fourth", "fifth", "sixth"}
