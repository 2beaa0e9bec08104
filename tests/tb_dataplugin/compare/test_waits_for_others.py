"""Waits for other DataLoaders are compared per training step that has them, and are in no other time."""

from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.compare.other_loaders import compare_others
from tb_dataplugin.compare.sides import group_runs
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.report import report_pb2 as pb
from tests.tb_dataplugin.analyses.test_apart import with_evaluation
from tests.tb_dataplugin.findings.cases import capture_of, results_of

NAME = "the other DataLoader of Clicks"


def evaluated(batches: int, every: int = 8, steps: int = 48) -> pb.Capture:
    """Evaluations wait for 16 ms per batch, and for 0.1 ms at their end."""
    return capture_of(with_evaluation(steps, every, batches))


def texts_of(found: pb.Comparison) -> list[str]:
    return [fact.text for fact in found.evidence if fact.kind == "other_loader"]


def test_a_step_knows_how_long_it_waited_for_another_loader() -> None:
    (other,) = results_of(with_evaluation()).loop.apart.others
    assert other.step_waits_ns == (48_100_000,) * 3
    (row,) = capture_of(with_evaluation()).loader.apart.others
    assert list(row.step_wait_us) == [48_100] * len(row.steps) and sum(row.step_wait_us) == row.wait_us


def test_a_shorter_evaluation_is_a_row_and_part_of_the_sentence() -> None:
    found = compare([evaluated(6)], [evaluated(2)])
    (row,) = found.other_loaders
    assert (row.kind, row.title, row.before_us, row.after_us, row.outcome) == (
        "other_loader",
        NAME,
        96_100,
        32_100,
        "less",
    )
    assert row.low < row.change < row.high < 0 and row.change == pytest.approx(32.1 / 96.1 - 1)
    assert f"The wait for {NAME} is not part of that and fell: 96.1 → 32.1 ms per training step" in found.sentence
    (text,) = texts_of(found)
    assert "in 6 of 48 steps before and in 6 of 48 steps after, which is 12.0 → 4.01 ms per step over all" in text
    assert "left out of all times: waits" not in str(found.evidence)
    assert "Other DataLoaders   data wait, ms per training step that iterates them" in compare_text(found)


def test_no_significant_difference_says_without_what() -> None:
    """The steps themselves are alike, whatever the evaluation's batches take."""
    before, after = evaluated(6), evaluated(6)
    for other, step in ((other, step) for other in after.loader.apart.others for step in after.steps.items):
        if step.apart_us:
            step.duration_us -= 60_000
            step.data_wait_us -= 60_000
            step.apart_us -= 60_000
            other.wait_us -= 60_000
            after.loader.wait_us -= 60_000
            after.loader.apart.wait_us -= 60_000
            after.window_us -= 60_000
    for other in after.loader.apart.others:
        other.step_wait_us[:] = [us - 60_000 for us in other.step_wait_us]
    found = compare([before], [after])
    assert found.time.after_us == pytest.approx(found.time.before_us)
    assert found.outcome == "not_significant"
    moved = f"The wait for {NAME} is not part of that and fell: 96.1 → 36.1 ms"
    assert moved in found.sentence
    assert f"without {NAME}:" in found.sentence


def test_how_many_evaluations_a_window_has_is_no_change_of_one() -> None:
    found = compare([evaluated(3, every=8)], [evaluated(3, every=4)])
    assert [row.outcome for row in found.other_loaders] == ["identical"]
    assert "is not part of that" not in found.sentence
    assert "in 6 of 48 steps before and in 12 of 48 steps after" in texts_of(found)[0]


def test_too_few_are_not_judged_and_said_with_their_times() -> None:
    found = compare([evaluated(6, steps=24)], [evaluated(2)])
    (row,) = found.other_loaders
    assert (row.outcome, row.interval_text) == ("unknown", "too few such steps to compare")
    assert f"The wait for {NAME} is not part of that: 96.1 → 32.1 ms per" in found.sentence
    assert "in 3 of 24 steps before" in texts_of(found)[0]


def test_an_evaluation_in_the_windows_of_one_side_is_no_change() -> None:
    found = compare([evaluated(3)], [evaluated(3, every=1_000)])
    (row,) = found.other_loaders
    assert row.outcome == "unknown" and not row.HasField("after_us")
    assert f"The wait for {NAME} is not part of that; only the windows before have it." in found.sentence
    assert "after it has next to none or was not iterated in the windows" in texts_of(found)[0]


def test_the_limit_of_a_job_is_not_about_it_and_says_so() -> None:
    before, after = evaluated(2), evaluated(6)
    judged = judge_limit(compare([before], [after]), 0.05)
    assert judged.sentence.endswith(f". Not judged: waits for {NAME} (more, +199%)")
    alone = judge_limit(compare([evaluated(3, every=1_000)], [evaluated(3, every=1_000)]), 0.05)
    assert "Not judged" not in alone.sentence


def test_loaders_that_are_made_anew_are_one() -> None:
    capture = evaluated(3)
    (other,) = capture.loader.apart.others
    split = [pb.OtherLoader(dataset="Clicks", wait_us=us, steps=[n], step_wait_us=[us]) for n, us in _each(other)]
    capture.loader.apart.ClearField("others")
    capture.loader.apart.others.extend(split)
    found = compare([evaluated(3)], [capture])
    assert [(row.name, row.outcome) for row in found.other_loaders] == [("Clicks", "identical")]


def _each(other: pb.OtherLoader) -> list[tuple[int, float]]:
    return list(zip(other.steps, other.step_wait_us, strict=True))


def varied(random: np.random.Generator, many: int, name: str, first: float = 1.0) -> pb.Capture:
    """Steps of 20 ms; each fifth has an evaluation that waits for about 100 ms, by 20% longer or shorter."""
    capture = pb.Capture(name=f"{name}_1.1", file=name, host="h", mode="annotated")
    luck = random.normal(1, 0.02)
    waits = luck * np.maximum(1_000, random.normal(100_000, 20_000, many))
    waits[0] *= first
    numbers = range(4, 5 * many, 5)
    items = dict.fromkeys(range(5 * many), 20_000.0)
    for number, us in zip(numbers, waits, strict=True):
        items[number] += us
    capture.steps.items.extend(pb.Step(number=number, duration_us=us) for number, us in items.items())
    capture.steps.count, capture.window_us = len(items), sum(items.values())
    other = capture.loader.apart.others.add(dataset="Clicks", wait_us=waits.sum(), steps=numbers)
    other.step_wait_us[:] = list(waits)
    return capture


@pytest.mark.parametrize(("runs", "many", "first"), [(1, 4, 1.0), (1, 12, 1.0), (1, 6, 4.0), (2, 2, 1.0), (3, 2, 1.0)])
def test_equal_sides_seldom_differ(runs: int, many: int, first: float) -> None:
    """Also with few evaluations, and where the first one of one side only starts its DataLoader workers."""
    random, alarms, trials = np.random.default_rng(runs * 100 + many), 0, 300
    for _ in range(trials):
        before = [varied(random, many, f"before{run}") for run in range(runs)]
        after = [varied(random, many, f"after{run}", first) for run in range(runs)]
        (found,) = compare_others(group_runs(before)[0], group_runs(after)[0], shared=0.03)
        alarms += found.quantity.significant
    assert alarms <= 0.05 * trials
