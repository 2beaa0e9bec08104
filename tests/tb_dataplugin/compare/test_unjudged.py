from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.compare.quantity import NEEDS_RUNS, Interval, Outcome, Quantity
from tb_dataplugin.compare.unjudged import largest_unjudged


def quantity(kind: str, title: str, before: float | None, after: float | None, outcome: Outcome) -> Quantity:
    change = after / before - 1 if before and after is not None else None
    return Quantity(kind, title, title, before, after, change, None, NEEDS_RUNS, outcome)  # type: ignore[arg-type]


def total(after: float, outcome: Outcome = "too_short") -> Quantity:
    return quantity("time", "time", 7000.0, after, outcome)


PARTS = (
    quantity("data_wait_by_stage", "data wait: sample::Pets", 30.0, 1480.0, "unknown"),
    quantity("data_wait_by_stage", "data wait: transform::Blur", 4200.0, 4400.0, "unknown"),
    quantity("part", "data wait", 4300.0, 6000.0, "too_short"),
)


def test_what_has_most_of_an_uncertain_difference_is_said_though_no_interval_is_known() -> None:
    (fact,) = largest_unjudged(PARTS, total(9000), "sample")
    assert fact.text.startswith(
        "data wait: sample::Pets: 0.0300 → 1.48 ms, 1.45 ms of the 2.00 ms per sample by which the whole time differs;"
    )


@pytest.mark.parametrize(
    ("after", "interval", "text", "said"),
    [
        ("too_short", None, "too uncertain to compare", "differs (too uncertain to compare)"),
        ("not_significant", Interval(-0.1, 0.9), "−10% to +90%", "differs (+67%, 95% interval −10% to +90%, not sig"),
    ],
)
def test_of_repeated_runs_it_has_an_interval_or_the_reason_that_there_is_none(
    after: Outcome, interval: Interval | None, text: str, said: str
) -> None:
    pets = quantity("data_wait_by_stage", "data wait: sample::Pets", 3000.0, 5000.0, after)
    judged = replace(pets, interval=interval, interval_text=text)
    (fact,) = largest_unjudged((judged,), total(9000), "sample")
    assert said in fact.text and "only its sum" not in fact.text
    assert largest_unjudged((replace(judged, outcome="more"),), total(9000), "sample") == (), "it is certain"


def test_a_part_that_moved_further_than_the_whole_is_said_to_be_more_than_that() -> None:
    (fact,) = largest_unjudged(PARTS, total(8200), "sample")
    more = "1.45 ms, more than the 1.20 ms per sample by which the whole time differs: the rest takes less;"
    assert more in fact.text


@pytest.mark.parametrize("whole", [None, total(9000, "slower"), total(7100), total(5000), total(11_000)])
def test_nothing_is_said_of_what_is_judged_small_or_has_little_of_it(whole: Quantity | None) -> None:
    assert largest_unjudged(PARTS, whole, "sample") == ()


@pytest.mark.parametrize(("before", "after", "whole"), [(5000.0, None, 3000.0), (None, 5000.0, 11_000.0)])
def test_a_stage_that_one_side_did_not_record_is_said_to_have_nothing_of_the_difference(
    before: float | None, after: float | None, whole: float
) -> None:
    lacking = quantity("data_wait_by_stage", "data wait: user::slow", before, after, "unknown")
    assert largest_unjudged((lacking,), total(whole), "step") == ()
    (fact,) = largest_unjudged((lacking, PARTS[0]), total(9000), "step")
    assert fact.text.startswith("data wait: sample::Pets")
