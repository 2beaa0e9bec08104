"""Waits for another thread of the training process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def fed(*, other_thread: bool) -> TraceBuilder:
    """The loop waits for 800 us in a Producer; a thread that iterates the loader transforms for 600 of them."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    builder.step(0, 1000).wait(100, 800, "wait::Producer")
    return builder.stage("transform::Blur", 200, 600, tid=2) if other_thread else builder


def test_the_stages_of_the_other_thread_have_the_wait_and_the_iterator_the_rest() -> None:
    waits = results_of(fed(other_thread=True)).attribution.wait_by_stage_ns
    assert waits == {"transform::Blur": 600_000, "wrapper::Producer": 200_000}


def test_without_another_thread_nobody_is_blamed() -> None:
    assert results_of(fed(other_thread=False)).attribution.wait_by_stage_ns is None


def test_torchs_own_wait_is_the_loaders_whatever_class_that_has() -> None:
    """The loop iterates a subclass of DataLoader; another thread of the program transforms meanwhile."""
    builder = TraceBuilder().annotated(loaders=[{"name": "StreamingDataLoader", "num_workers": 0, "batch_size": 1}])
    builder.step(0, 1000).wait(100, 800, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    builder.stage("transform::Blur", 100, 700).stage("transform::Other", 200, 600, tid=2)
    waits = results_of(builder).attribution.wait_by_stage_ns
    assert waits is not None
    assert waits["transform::Blur"] == 700_000
    assert "wrapper::DataLoader" not in waits


@pytest.mark.parametrize("loaders", [[], [{"name": "ThreadDataLoader", "num_workers": 0, "batch_size": 1}]])
def test_a_loader_that_a_thread_feeds_has_that_threads_stages(loaders: list[Any]) -> None:
    """MONAI's ThreadDataLoader, which is recorded; SPDL's pipelines, which are no loaders of torch's."""
    builder = TraceBuilder().annotated(loaders=loaders)
    builder.step(0, 1000).wait(100, 800, "wait::ThreadDataLoader").stage("transform::Blur", 200, 600, tid=2)
    waits = results_of(builder).attribution.wait_by_stage_ns
    assert waits == {"transform::Blur": 600_000, "wrapper::ThreadDataLoader": 200_000}


def test_a_batch_that_lay_in_the_queue_of_another_thread_is_not_waited_for() -> None:
    """Milliseconds: a thread receives batches of a worker and is ahead; the iterator itself takes 8 of each 10."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    for column in ("serialised_us", "deserialise_us"):
        builder.batches[column] = []
    for number in range(4):
        at = 10_000 * number
        builder.step(at, 10_000).wait(at, 8000, "wait::Packer")
        builder.batch(number, 0, max(0, at - 20_000), at, at + 500, at + 4000, {"sample::Pets": (at, 500)})
        builder.batches["serialised_us"][-1] = at + 600
        builder.batches["deserialise_us"][-1] = at + 3900
    assert results_of(builder).attribution.wait_by_stage_ns == {"wrapper::Packer": 32_000_000}


def test_a_thread_that_wakes_up_late_waited_all_the_same() -> None:
    """Milliseconds: two workers finish together, each second batch is there already: the thread is never away for long.
    Each batch is sent 1 ms after it is finished, and taken only 3 ms later, for want of a CPU.
    """
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 2, "batch_size": 1}])
    builder.worker(0).worker(1)
    for column in ("serialised_us", "deserialise_us"):
        builder.batches[column] = []
    for number in range(8):
        at = 20_000 * (number // 2)
        first = number % 2 == 0
        builder.step(at + (0 if first else 18_000), 18_000 if first else 2_000)
        builder.wait(at, 16_000, "wait::Packer") if first else builder.wait(at + 18_000, 10, "wait::Packer")
        span = {"sample::Pets": (at - 4000.0, 15_000.0)}
        builder.batch(number, number % 2, at - 24_000, at - 4000, at + 11_000, at + (15_900 if first else 16_000), span)
        builder.batches["serialised_us"][-1] = at + 12_000
        builder.batches["deserialise_us"][-1] = at + 15_000 if first else at + 15_500
    waits = results_of(builder).attribution.wait_by_stage_ns
    assert waits is not None
    first_wait, unpacking = 16_000_000, 5_000_000
    assert waits["wrapper::Packer"] == pytest.approx(first_wait + 3 * unpacking, rel=0.01)


def test_receiving_a_batch_that_lay_there_is_its_way_and_not_the_iterators_code() -> None:
    """A thread is always late, as it takes 6 ms of each 10 to receive a batch that was sent long before."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    for number in range(6):
        at = 10_000 * number
        builder.step(at, 10_000).wait(at, 8000, "wait::Packer")
        builder.batch(number, 0, at - 60_000, at - 41_000, at - 40_000, at + 8000, {"sample::Pets": (at - 41_000, 990)})
        builder.moments(serialised_us=at - 39_000, deserialise_us=at + 1900, arrived_us=at + 7900)
    waits = results_of(builder).attribution.wait_by_stage_ns
    assert waits is not None
    assert waits["transfer::deserialise"] == 5 * 6_000_000
