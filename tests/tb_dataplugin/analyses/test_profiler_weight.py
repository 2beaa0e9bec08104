"""Operators are recorded one by one, which costs: a step of many small ones is slower than without the profiler."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder

STEPS, STEP, WAIT = 8, 1000, 400


def built(operators: int, operator_us: float | None = 1.0, num_workers: int = 2, mode: str = "train") -> TraceBuilder:
    """Steps of 1 ms, 0.4 ms of it data wait; so many operators in the rest, and ten in each wait. `operator_us`: of the
    one that was probed.
    """
    overhead = {} if operator_us is None else {"operator_us": operator_us}
    settings = {"name": "DataLoader", "num_workers": num_workers}
    builder = TraceBuilder().annotated(mode, loaders=[settings], overhead=overhead)
    for number in range(STEPS):
        begin = STEP * number
        builder.step(begin, STEP).wait(begin, WAIT, "wait::DataLoader")
        for place in range(10):
            builder.operator(begin + 10 + 10 * place, 5, "aten::copy_")
        for place in range(operators):
            builder.operator(begin + WAIT + 10 + 2 * place, 1, "aten::item")
    return builder


def capture(operators: int, **odd: Any) -> Capture:
    return analyse(built(operators, **odd).trace()).capture


def doubts(capture: Capture) -> str:
    return " ".join(doubt.sentence for doubt in capture.doubts if doubt.code == "profiler_weight")


def notes(capture: Capture) -> str:
    return " ".join(note.message for note in capture.diagnostics if note.code == "profiler_weight")


def test_a_step_of_small_operators_is_said_to_be_slowed_and_nothing_is_called_measured() -> None:
    """Of 0.6 ms outside the data wait 150 operators of 2 us (1.2 to 3.1) make 0.3 ms."""
    found = capture(150)
    assert "a step's own work about 2.0x as long (1.4x to 4.4x, estimated): 600 µs instead of about 300 µs" in doubts(
        found
    )
    assert "150 operators per step, 1.20 µs to 3.10 µs each" in doubts(found)
    assert "Lines with many small operators look too hot." in doubts(found)
    assert not notes(found)
    assert {finding.confidence for finding in found.findings}.isdisjoint({"measured"})


def test_a_step_that_is_slowed_a_little_has_a_note_only() -> None:
    found = capture(50)
    assert "1.2x" in notes(found) and not doubts(found)


def test_operators_in_the_data_wait_count_where_the_step_makes_its_samples_itself() -> None:
    found = capture(150, num_workers=0)
    assert "160 operators per step" in doubts(found)
    assert "1.00 ms instead of" in doubts(found)


def with_spans(num_workers: int, operators: int = 150) -> Capture:
    """30 spans per step of 3 us each."""
    builder = built(operators, num_workers=num_workers)
    builder.top_level[METADATA_KEY]["overhead"] |= {"marker_us": 3.0, "marker_count": 30 * STEPS}
    return analyse(builder.trace()).capture


def test_spans_count_where_the_step_makes_its_samples_itself() -> None:
    """A stranger's loop of cheap samples: 2.8x, and 1.2x by operators alone. Here 160 x 2 us and 30 x 3 us of 1 ms."""
    found = doubts(with_spans(num_workers=0))
    assert "Recording makes a step's own work about 1.7x as long" in found
    assert "1.00 ms instead of about 590 µs" in found
    assert "160 operators per step, 1.20 µs to 3.10 µs each, and 30 spans, about 3.00 µs each" in found


def test_spans_of_workers_are_not_the_steps() -> None:
    found = doubts(with_spans(num_workers=2))
    assert "Torch's profiler makes a step's own work about 2.0x as long" in found and "span" not in found


@pytest.mark.parametrize("operators", [0, 20])
def test_few_operators_are_not_worth_a_word(operators: int) -> None:
    found = capture(operators)
    assert not doubts(found) and not notes(found)


@pytest.mark.parametrize("operator_us", [1.0, 50.0])
def test_a_probe_by_which_recording_is_nearly_all_of_a_step_says_that_its_weight_is_not_known(
    operator_us: float,
) -> None:
    """It was said to be 5.0x, a cap of ours, as if it were measured."""
    found = doubts(capture(250, operator_us=operator_us))
    assert "may make a step's own work much longer, by how much is not known" in found and "250 operators" in found
    assert "instead of" not in found and "5.0x" not in found


def test_the_upper_end_of_the_estimate_is_left_open_where_it_is_nearly_all_of_a_step() -> None:
    """180 operators of 3.1 us are 0.558 of 0.6 ms."""
    assert "about 2.5x as long (1.6x or more, estimated)" in doubts(capture(180))


def test_time_without_a_cpu_is_not_the_steps_own_work() -> None:
    """Of 0.6 ms outside the data wait 0.2 ms are spent waiting for a CPU, and 50 operators of 2 us make 0.1 ms."""
    builder = built(50)
    builder.top_level[METADATA_KEY]["training_thread"] = {"cpu_us": 8 * 300.0, "run_delay_us": 8 * 200.0, "gc_us": 0.0}
    assert "400 µs instead of about 300 µs" in doubts(analyse(builder.trace()).capture)


@pytest.mark.parametrize("odd", [{"operator_us": None}, {"operator_us": -3.0}, {"mode": "replay"}])
def test_an_unknown_cost_and_a_replay_have_no_such_words(odd: dict[str, Any]) -> None:
    found = capture(150, **odd)
    assert not doubts(found) and not notes(found)


def timed(before_us: list[float], operator_us: float | None = 1.0) -> Capture:
    """Of 0.6 ms outside the data wait in the window 150 operators of 2 us would make 0.3 ms."""
    builder = built(150, operator_us)
    builder.top_level[METADATA_KEY]["overhead"]["own_us_before"] = before_us
    return analyse(builder.trace()).capture


def test_steps_that_were_timed_before_the_window_say_it_better_than_operators() -> None:
    found = timed([9000.0] + [200.0] * 10 + [210.0] * 5)
    assert "own work 3.0x as long: 600 µs instead of 200 µs in 16 steps before it was on" in doubts(found)
    assert "operators per step" not in doubts(found)
    assert "3.0x" in doubts(timed([200.0] * 10, operator_us=None))


def test_steps_that_were_no_faster_before_the_window_are_not_slowed() -> None:
    for before_us in (600.0, 900.0):
        found = timed([before_us] * 10)
        assert not doubts(found) and not notes(found)


@pytest.mark.parametrize("before_us", [[200.0] * 7, [100.0, 300.0] * 8])
def test_few_or_uneven_steps_before_the_window_say_nothing(before_us: list[float]) -> None:
    assert "150 operators per step" in doubts(timed(before_us))


def whole(before_us: list[float], *, delay_us: float = 0.0, operators: int = 150) -> Capture:
    """Without DataLoader workers: steps of 1 ms in the window, in which 160 operators would make 192 to 496 us."""
    builder = built(operators, num_workers=0)
    builder.top_level[METADATA_KEY]["steps"] = {"source": "profiler", "before_us": before_us}
    builder.top_level[METADATA_KEY]["overhead"]["own_us_before"] = [500.0] * 10
    thread = {"cpu_us": STEPS * 900.0, "run_delay_us": delay_us, "gc_us": 0.0}
    builder.top_level[METADATA_KEY]["training_thread"] = thread
    return analyse(builder.trace()).capture


def test_a_step_that_makes_its_samples_itself_is_compared_with_whole_steps_before() -> None:
    """The time from a batch to the next wait has none of what making samples takes, and says nothing of its operators:
    a transform of many small ones was slowed to 1.9x, and nothing was said.
    """
    found = doubts(whole([625.0] * 5 + [630.0] * 5))
    assert "Recording makes a step 1.6x as long: 1.00 ms instead of 628 µs in 10 steps before it was on" in found
    assert "estimated" not in found


def test_whole_steps_that_do_not_fit_to_the_operators_are_no_measure() -> None:
    """The first steps of a program may be slow for other reasons, and others may have had the CPUs."""
    estimated = "about 1.5x as long (1.2x to 2.0x, estimated)"
    assert estimated in doubts(whole([900.0] * 10))
    assert "estimated" in doubts(whole([625.0] * 10, delay_us=STEPS * 100.0))


def test_whole_steps_are_no_measure_of_few_operators() -> None:
    """Chance makes them differ by more than these operators can."""
    found = whole([700.0, 850.0] * 5, operators=0)
    assert not doubts(found) and not notes(found)
