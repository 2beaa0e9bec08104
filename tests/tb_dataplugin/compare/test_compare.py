from __future__ import annotations

import copy
import functools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.noise import Change
from tb_dataplugin.compare.quantity import SIGNIFICANT
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.export.terminal import PLAIN
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture, Comparison, Quantity
from tests.simulated_run import STAGES, Simulation, runs
from tests.trace_builder import TraceBuilder

BASE = Simulation(steps=16, batch_size=2)


def two(simulation: Simulation, seed: int, count: int = 1) -> list[Capture]:
    return runs(simulation, np.random.default_rng(seed), count)


def stage(comparison: Comparison, name: str) -> Quantity:
    return next(one for one in comparison.stages if one.name == name)


def quantities(comparison: Comparison) -> list[Quantity]:
    return [comparison.time, *comparison.parts, *comparison.stages]


def test_a_capture_against_itself_is_identical() -> None:
    [capture] = two(BASE, 1)
    renamed = Capture()
    renamed.CopyFrom(capture)
    renamed.name, renamed.file = "elsewhere_7.1", "/elsewhere_7.1.pt.trace.json"
    for other in (capture, renamed):
        same = compare([capture], [other])
        assert same.outcome == "identical" and same.sentence.startswith("Identical: every compared number is equal")
        assert not same.settings and not same.evidence and not same.diagnostics
        for quantity in quantities(same):
            assert quantity.outcome == quantity.interval_text == "identical"
            assert not quantity.HasField("low") and not quantity.HasField("detectable")


def test_repeated_runs_in_another_order_are_identical() -> None:
    captures = two(BASE, 1, 3)
    assert compare(captures, captures[::-1]).outcome == "identical"


def test_captures_without_any_number_are_identical_only_to_themselves() -> None:
    one, other = (analyse(TraceBuilder().operator(0, 10).operator(50, took).trace()).capture for took in (10, 11))
    assert compare([one], [one]).outcome == "identical"
    assert compare([one], [other]).outcome == "unknown"


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.5, 2))
def test_swapping_the_sides_turns_every_change_around(seed: int, factor: float) -> None:
    before, after = two(BASE, seed), two(BASE.with_stage("transform::Gamma", factor), seed + 1)
    there, back = compare(before, after), compare(after, before)
    assert {there.outcome, back.outcome} <= {"not_significant", "too_short"} or {there.outcome, back.outcome} == {
        "faster",
        "slower",
    }
    assert (1 + there.time.change) * (1 + back.time.change) == pytest.approx(1)
    turned = {"faster": "slower", "slower": "faster", "more": "less", "less": "more"}
    others = {quantity.name: quantity for quantity in quantities(back)}
    for one in quantities(there):
        other = others[one.name]
        if not one.before_us or not one.after_us:  # as what only an epoch's start had, which is left out: no ratio
            continue
        assert (1 + one.change) * (1 + other.change) == pytest.approx(1)
        if one.outcome in turned or other.outcome in turned:
            assert other.outcome == turned[one.outcome]


def test_faster_says_by_how_much_and_why() -> None:
    slow = Simulation(steps=24, batch_size=2, stages={**STAGES, "transform::Blur": 4000})
    found = compare(two(slow, 1, 3), two(Simulation(steps=24, batch_size=2), 2, 3))
    assert found.outcome == "faster" and found.unit == "sample"
    assert found.sentence.startswith("Faster: ") and "95% interval −" in found.sentence
    assert "; the data wait fell by " in found.sentence and "transform::Blur takes 7" in found.sentence
    assert found.time.after_us < found.time.before_us and found.time.high < 0
    assert found.stages[0].name == "transform::Blur" and found.stages[0].calls.change_us < 0


def test_the_parts_of_the_time_add_up() -> None:
    found = compare(two(BASE, 1), two(BASE, 2))
    parts = {part.name: part for part in found.parts}
    assert parts["data_wait"].before_us + parts["rest"].before_us == pytest.approx(found.time.before_us)
    blamed = sum(part.before_us for name, part in parts.items() if name.startswith("data_wait:"))
    assert blamed == pytest.approx(parts["data_wait"].before_us)


@pytest.mark.parametrize("count", [1, 3])
def test_every_change_is_that_of_the_times_beside_it(count: int) -> None:
    """Means fell with the machine's load, CPU times rose: a row with one of each would contradict itself."""
    busy = Simulation(steps=16, batch_size=2, preempted=0.6)
    quiet = BASE.with_stage("transform::Blur", 1.2)
    found = compare(two(busy, 1, count), two(quiet, 2, count))
    for quantity in (one for one in quantities(found) if one.HasField("change")):
        assert quantity.change == pytest.approx(quantity.after_us / quantity.before_us - 1)
    assert "cpu" in {one.calls.measure for one in found.stages}


def test_settings_and_stages_that_came_and_went_are_said() -> None:
    other = Simulation(steps=16, batch_size=2, workers=1, stages={"decode::PIL.Image": 400.0, "transform::Flip": 50.0})
    found = compare(two(BASE, 1), two(other, 2))
    assert ("num_workers", "2", "1") in [(one.name, one.before, one.after) for one in found.settings]
    assert not stage(found, "transform::Blur").HasField("after_us")
    assert not stage(found, "transform::Flip").HasField("before_us")
    assert (stage(found, "transform::Flip").outcome, stage(found, "transform::Blur").outcome) == ("new", "gone")


def test_windows_of_one_process_are_one_run() -> None:
    first, second = two(BASE, 1, 2)
    first.name, second.name = "run/host_7.100", "run/host_7.200"
    assert [list(run.files) for run in compare([first, second], two(BASE, 2)).before] == [[first.file, second.file]]


def test_replays_and_other_ranks_are_left_aside() -> None:
    train, other, replay = two(BASE, 1, 3)
    train.rank, other.rank, replay.rank, replay.mode = 0, 1, 0, "replay"
    found = compare([train, other, replay], [train])
    assert len(found.before) == 1
    assert {one.code for one in found.diagnostics} >= {"replays_left_aside", "ranks_left_aside"}


def steps_of(took: float, count: int) -> TraceBuilder:
    builder = TraceBuilder()
    for number in range(count):
        builder.step(number * took, took).operator(number * took + 1, 10)
    return builder


def test_captures_too_short_for_their_noise_say_so() -> None:
    short, other = (analyse(steps_of(took, 3).trace()).capture for took in (100, 101))
    found = compare([short], [other])
    assert found.outcome == "too_short" and found.sentence.startswith("Too short to compare: ")
    assert found.time.interval_text == "too uncertain to compare" and not found.time.HasField("low")
    assert found.sentence.endswith("or 3 to 5 runs on each side.")


def test_more_runs_are_advised_where_several_are_there_already() -> None:
    runs_of = [[analyse(steps_of(took, 3).trace()).capture for took in side] for side in ((1, 90, 900), (2, 60, 700))]
    for number, capture in enumerate(one for side in runs_of for one in side):
        capture.file = f"/host_{number}.1.pt.trace.json"
    found = compare(*runs_of)
    assert found.outcome == "too_short" and len(found.before) == 3
    assert found.sentence.endswith("or more runs on each side.")


ODD_TIMES = st.sampled_from([0.0, 1e-3, 1.0, 7.0, 4e4, 1e9])


@functools.cache
def three_short(seed: int) -> list[Capture]:
    return two(Simulation(steps=9, batch_size=1), seed, 3)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_whatever_the_captures_hold_they_are_compared(data: st.DataObject) -> None:
    sides = [copy.deepcopy(three_short(seed)[: data.draw(st.integers(1, 3))]) for seed in (1, 2)]
    for capture in (one for side in sides for one in side):
        count = data.draw(st.integers(0, 9))
        for stage in capture.stages:
            times = data.draw(st.lists(ODD_TIMES, min_size=count, max_size=count))
            del stage.block_self_us[:], stage.block_cpu_us[:], stage.block_count[count:], stage.block_worker[count:]
            stage.block_self_us.extend(times)
            stage.block_cpu_us.extend(times[::-1])
            stage.self_us = sum(times)
        for step in capture.steps.items:
            step.duration_us = data.draw(ODD_TIMES)
    found = compare(*sides)
    assert found.sentence and compare_text(found, PLAIN) and json.loads(as_json(found))["sentence"] == found.sentence


def test_noise_without_bound_is_no_number() -> None:
    """A small stage of a few uneven blocks: its alarm is so rare that no difference could raise it."""
    assert Change(0.1, 0.05, 1.0).reach(1e-6) is None
    assert Change(0.1, 0.05, 1.0).reach(0.05) == pytest.approx(0.635, abs=0.001)


def test_without_steps_and_samples_nothing_is_claimed() -> None:
    blind = analyse(TraceBuilder().operator(0, 10).operator(50, 10).trace()).capture
    other = analyse(TraceBuilder().operator(0, 10).operator(50, 20).trace()).capture
    found = compare([blind], [other])
    assert found.outcome == "unknown" and not found.HasField("time") and found.unit == ""


def test_a_shared_machine_is_said_and_widens_the_wall_times() -> None:
    busy = Simulation(steps=24, batch_size=2, preempted=0.6)
    quiet = Simulation(steps=24, batch_size=2)
    shared, alone = compare(two(quiet, 1), two(busy, 2)), compare(two(quiet, 1), two(quiet, 2))
    assert "waited_for_cpu" in {one.code for one in shared.diagnostics}
    assert not shared.time.HasField("detectable") and alone.time.detectable < 1
    assert shared.sentence.startswith("Not certain: ") and "waiting for a CPU" in shared.sentence
    assert "few_runs" not in {one.code for one in shared.diagnostics}, "one doubt has one reason"
    assert not any(word in compare_text(shared).split("Missing data")[0] for word in ("chance", "too short"))
    assert not any(one.outcome in SIGNIFICANT for one in shared.stages if one.calls.measure == "cpu")


def test_the_data_wait_of_a_stage_that_is_gone_is_gone_too() -> None:
    before, after = two(BASE, 1)[0], two(BASE, 2)[0]
    for capture, own in ((before, {"read::a": 500.0, "read::b": 100.0}), (after, {"read::b": 0.0, "other": 3.0})):
        capture.loader.wait_by_stage_us.clear()
        capture.loader.wait_by_stage_us.update(own)
    after.stages.add(kind="read", label="b", path=["read::b"], count=1)
    parts = {part.name: part for part in compare([before], [after]).parts}
    gone, there = parts["data_wait:read::a"], parts["data_wait:read::b"]
    assert (gone.outcome, gone.interval_text) == ("gone", "none after")
    assert not gone.HasField("change"), "as in the table of stages"
    assert there.outcome != "gone"


@pytest.mark.parametrize("still_there", ["transfer::serialise", "read::b"])
def test_what_is_still_there_and_causes_no_wait_any_more_is_not_gone(still_there: str) -> None:
    before, after = two(BASE, 1, 3), two(BASE, 2, 3)
    for captures, wait in ((before, 300.0), (after, 0.0)):
        for number, capture in enumerate(captures):
            capture.loader.wait_by_stage_us[still_there] = wait * (1 + number / 10)
            capture.stages.add(kind="read", label="b", path=["read::b"], count=1)
    part = next(part for part in compare(before, after).parts if part.name == f"data_wait:{still_there}")
    assert (part.outcome, part.interval_text) == ("not_significant", "caused none after")
    assert part.change == -1 and not part.HasField("low")
