"""How many batches a loop took for each that was built in the window: whether it lived on batches from before."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import signals_of
from tests.trace_builder import TraceBuilder

Batch = tuple[float, float, float | None]
"""When it was begun, finished, and taken."""


def taken_per_built(*batches: Batch) -> float:
    """Of one worker, in a window of 1 ms."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 100, "wait::DataLoader")
    for number, (begun, finished, taken) in enumerate(batches):
        builder.batch(number, 0, begun, begun, finished, taken)
    workers = signals_of(builder).workers
    assert workers is not None
    return workers.taken_per_built


def test_a_loop_that_takes_what_is_built_has_no_stock() -> None:
    assert taken_per_built((0, 400, 410), (400, 900, 910)) == 1.0


def test_batches_from_before_are_stock() -> None:
    assert taken_per_built((-900, -500, 10), (-500, -100, 200), (0, 500, 600), (500, 990, 995)) == 2.0


def test_a_part_of_a_batch_counts_as_such() -> None:
    assert taken_per_built((-400, 400, 410), (400, 1000, 999)) == pytest.approx(2 / 1.5)


def test_a_batch_that_stays_in_the_queue_makes_it_less_than_one() -> None:
    assert taken_per_built((0, 400, 410), (400, 900, None)) == 0.5
