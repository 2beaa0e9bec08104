"""Where a stage is called more often on one side, the mean of its calls may be of different ones."""

from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.compare.call_counts import moved_calls, with_other_calls
from tb_dataplugin.compare.quantity import Interval, Quantity, StageCalls


def stage(before: float, after: float, name: str = "read::open") -> Quantity:
    calls = StageCalls(before, after, 100.0, "cpu", speed_adjusted=False)
    interval = Interval(0.22, 1.69)
    return Quantity("stage", name, name, 15.8, 28.7, 0.81, interval, "+22% to +169%", "not_significant", calls=calls)


def texts(*stages: Quantity) -> list[str]:
    return [each.interval_text for each in with_other_calls(stages)]


def test_a_quick_open_that_is_gone_makes_no_slower_open() -> None:
    samples = stage(1.0, 1.0, "sample::Pets")
    assert texts(samples, stage(2.0, 1.0)) == [
        "+22% to +169%",
        "+22% to +169%; called less often after: these may be different calls",
    ]
    assert texts(samples, stage(1.0, 2.0))[1].endswith("called more often after: these may be different calls")


def test_as_many_calls_are_the_same_ones() -> None:
    assert texts(stage(1.0, 1.1)) == ["+22% to +169%"]
    samples = stage(0.7, 1.0, "sample::Pets")  # the first window took batches from before it
    assert not moved_calls((samples, stage(0.7, 1.0)))


def test_nothing_stands_behind_what_is_not_compared() -> None:
    unsure = replace(stage(2.0, 1.0), interval=None, interval_text="too uncertain to compare", outcome="too_short")
    assert texts(unsure, replace(unsure, outcome="gone", interval_text="none after", change=None)) == [
        "too uncertain to compare",
        "none after",
    ]
