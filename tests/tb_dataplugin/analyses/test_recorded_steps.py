"""Steps that no profiler marked, as the recorder saw them end."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.steps import Steps, find_steps, find_window, has_numbers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace
from tests.trace_builder import TraceBuilder


def traced(steps: Any, *, has_spans: bool = False) -> Trace:
    builder = TraceBuilder().wait(100, 10).operator(120, 50).wait(200, 10).operator(230, 100)
    if has_spans:
        builder.step(90, 105)
    return builder.annotated(steps=steps).trace()


def known(trace: Trace) -> Steps:
    steps = find_steps(trace)
    assert isinstance(steps, Steps)
    return steps


def test_boundaries_are_the_steps_and_the_window() -> None:
    trace = traced({"source": "optimizer", "boundaries_us": [100, 180, 300]})
    assert trace.info.pipeline is not None
    assert trace.info.pipeline.step_source == "optimizer"
    assert known(trace).duration_ns.tolist() == [80_000, 120_000]
    assert known(trace).number.tolist() == [0, 1]
    window = find_window(trace)
    assert isinstance(window, Window)
    assert window.duration_ns == 200_000


def test_boundaries_come_before_a_span_that_nobody_ended() -> None:
    """A profiler's schedule begins its first step by itself; the recorder says when it was told of none."""
    trace = traced({"source": "batch", "boundaries_us": [100, 180, 300]}, has_spans=True)
    assert known(trace).duration_ns.tolist() == [80_000, 120_000]
    assert trace.training_track is not None and not has_numbers(trace)
    spans = traced({"source": "profiler"}, has_spans=True)
    assert known(spans).duration_ns.tolist() == [105_000] and has_numbers(spans)


def test_boundaries_in_any_order_count_once() -> None:
    trace = traced({"source": "batch", "boundaries_us": [300, 100, 180, 180]})
    assert known(trace).duration_ns.tolist() == [80_000, 120_000]


@pytest.mark.parametrize("boundaries", [[], [100], [100, 100]])
def test_one_boundary_is_no_step(boundaries: list[float]) -> None:
    trace = traced({"source": "batch", "boundaries_us": boundaries})
    assert isinstance(find_steps(trace), Unavailable)
    assert find_window(trace) == trace.extent


@pytest.mark.parametrize("steps", [{"source": "guess"}, {"boundaries_us": ["x"]}, {"boundaries_us": [1e300, 2]}, 5])
def test_a_record_that_is_not_valid_is_said(steps: Any) -> None:
    trace = traced(steps)
    assert trace.info.pipeline is None
    assert [note.code for note in trace.diagnostics] == ["bad_metadata"]
