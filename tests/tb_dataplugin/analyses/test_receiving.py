"""CPU time of the training thread in waits that torch marks, which only samples of its state tell of."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.receiving import UNKNOWN_CPU, find_receiving
from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder

WAITS = ((0, 8_000), (10_000, 400), (20_000, 8_000), (30_000, 8_000))
"""Microseconds: start and duration; the first one is for an epoch's first batch."""


def cpu_us(samples: int) -> list[float]:
    """In each wait. The thread runs in all of the first two, and in the first quarter of the others."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 40_000)
    for number, (start, duration) in enumerate(WAITS):
        builder.add("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start, duration)
        end = start + duration
        builder.batch(number, 0, max(0, start - 10), start, start + 100, end - 10, {"sample::Pets": (start, 50)})
    times = [100.0 * number + 50 for number in range(samples)]
    runs = [
        any(start <= at < start + (duration if start < 15_000 else 2_000) for start, duration in WAITS) for at in times
    ]
    results = results_of(builder.sampled(times, [int(not one) for one in runs]))
    found = find_receiving(results.trace, results.tree)
    return [float(each) / 1e3 if each != UNKNOWN_CPU else -1.0 for each in found.cpu_ns]


def test_each_wait_has_as_much_as_it_can_and_an_epochs_first_is_left_out() -> None:
    """Of 16.4 ms the thread runs for 4.4."""
    assert cpu_us(400) == [-1, *(pytest.approx(each, abs=50) for each in (400, 2_000, 2_000))]


def test_too_few_samples_tell_nothing() -> None:
    assert cpu_us(190) == [-1] * 4
