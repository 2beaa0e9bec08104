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
    """Of 0.6 ms outside the data wait 150 operators of 2 us make 0.3 ms."""
    found = capture(150)
    assert "a step's own work at least about 2.0x as long: 600 µs instead of 300 µs or less" in doubts(found)
    assert "150 operators per step" in doubts(found)
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
    assert "Recording makes a step's own work at least about 1.7x as long: 1.00 ms instead of 590 µs or less" in found
    assert "160 operators per step, about 2.00 µs each, and 30 spans, about 3.00 µs each" in found
    assert "what recording slows besides is not known" in found


def test_spans_of_workers_are_not_the_steps() -> None:
    found = doubts(with_spans(num_workers=2))
    assert "Torch's profiler makes a step's own work at least about 2.0x as long" in found and "span" not in found


@pytest.mark.parametrize("operators", [0, 20])
def test_few_operators_are_not_worth_a_word(operators: int) -> None:
    found = capture(operators)
    assert not doubts(found) and not notes(found)


def test_a_probe_that_cost_more_than_the_step_does_not_leave_nothing_of_it() -> None:
    assert "5.0x as long" in doubts(capture(250, operator_us=50.0))


def test_time_without_a_cpu_is_not_the_steps_own_work() -> None:
    """Of 0.6 ms outside the data wait 0.2 ms are spent waiting for a CPU, and 50 operators of 2 us make 0.1 ms."""
    builder = built(50)
    builder.top_level[METADATA_KEY]["training_thread"] = {"cpu_us": 8 * 300.0, "run_delay_us": 8 * 200.0, "gc_us": 0.0}
    assert "400 µs instead of 300 µs or less" in doubts(analyse(builder.trace()).capture)


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
