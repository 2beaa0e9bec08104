"""A queue of the program's own between a thread that makes batches and the training thread."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.fed_queue import FedQueue, find_fed_queue
from tb_dataplugin.analyses.steps import find_window
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import SteadyState
from tests.trace_builder import TraceBuilder

BUILD, OWN = 30_000.0, 10_000.0
"""Of a batch in the thread, of a step without its wait; microseconds: in the steady state two thirds are data wait."""


def fed(ahead: int, steps: int = 16, parts: int = 1) -> TraceBuilder:
    """Thread 2 collates a batch every 30 ms; the loop takes one per step. `ahead` lie in the queue as it opens; of each
    the loop makes `parts` steps.
    """
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    now, made = 0.0, 0
    for step in range(steps):
        needed = step // parts + 1
        ready = max(0, needed - ahead) * BUILD
        got = max(now + 10, ready)
        while made < steps + 2 and made * BUILD < got:
            builder.stage("sample::Reviews", made * BUILD, BUILD - 200, tid=2)
            builder.stage("collate::default_collate", (made + 1) * BUILD - 150, 100, tid=2)
            made += 1
        builder.step(now, got - now + OWN).wait(now, got - now, "wait::Producer")
        now = got + OWN
    return builder


def queue(builder: TraceBuilder) -> FedQueue | None:
    trace = builder.trace()
    window = find_window(trace)
    assert isinstance(window, Window)
    return find_fed_queue(trace, window, None)


def steady(builder: TraceBuilder) -> SteadyState:
    return analyse(builder.trace()).capture.loader.steady_state


def test_what_is_taken_faster_than_it_is_made_was_in_the_queue() -> None:
    found = queue(fed(ahead=5))
    assert found is not None
    assert found.ready_first == 5 and found.ready_last <= 1 and found.taken == 16


def test_a_full_queue_hides_a_slow_thread() -> None:
    found = steady(fed(ahead=8))
    assert found.state == "draining"
    assert found.measured_share < 0.55
    assert found.share == pytest.approx(2 / 3, abs=0.02)
    assert found.capacity_per_s == pytest.approx(1e6 / BUILD, rel=0.02)
    assert "at least 8 at its start" in found.sentence


def test_an_empty_queue_is_measured() -> None:
    found = steady(fed(ahead=0))
    assert found.state == "steady"
    assert found.share == found.measured_share == pytest.approx(2 / 3, abs=0.03)


def test_batches_that_the_program_cuts_up_say_nothing_about_its_queue() -> None:
    assert queue(fed(ahead=0, parts=4)) is None


def test_without_a_thread_there_is_no_such_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    assert queue(builder.step(0, 1000).wait(0, 500, "wait::DataLoader")) is None
