from __future__ import annotations

from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder


def two_steps(source: str, first: int) -> TraceBuilder:
    """Each waits 20 us for a batch, of which the first has that number in its epoch."""
    steps = {"source": source, "boundaries_us": [0.0, 100.0, 200.0]}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}], steps=steps).worker(0)
    for number in range(2):
        begin = 100.0 * number
        builder.wait(begin + 5, 20).batch(first + number, 0, begin, begin + 1, begin + 15, begin + 20)
    return builder


def test_steps_that_no_profiler_numbered_say_where_they_begin() -> None:
    said = capture_of(two_steps("optimizer", 30)).steps.counted
    assert said == "counted from the window's first, which trains on batch 30 of its epoch (from 0)"


def test_steps_that_end_with_a_batch_have_it_on_their_edge() -> None:
    assert capture_of(two_steps("batch", 30)).steps.counted == "counted from the window's first"


def test_numbers_of_the_profiler_are_its_own() -> None:
    assert not capture_of(TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 100).wait(0, 50)).steps.counted
