"""Stages that wait for other threads of their process, in the training process and in DataLoader workers."""

from __future__ import annotations

from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def pooled(cpu_us: int | None) -> TraceBuilder:
    """The loop loads a sample itself, 800 us; a pool of two threads transforms for 600 of them."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    builder.step(0, 1000).wait(100, 800, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    if cpu_us is None:
        builder.stage("sample::Pets", 100, 800)
    else:
        builder.add("user_annotation", "sample::Pets", 100, 800, cpu_us=cpu_us)
    return builder.stage("transform::Blur", 200, 600, tid=2).stage("transform::Crop", 500, 300, tid=3)


def waits_of(builder: TraceBuilder) -> dict[str, int]:
    waits = results_of(builder).attribution.wait_by_stage_ns
    assert waits is not None
    return waits


def test_threads_that_a_sample_waits_for_have_the_data_wait_in_equal_parts() -> None:
    assert waits_of(pooled(0)) == {"sample::Pets": 200_000, "transform::Blur": 450_000, "transform::Crop": 150_000}


def test_a_sample_passes_on_no_more_than_it_was_without_a_cpu() -> None:
    waits = waits_of(pooled(500))
    assert waits == {"sample::Pets": 500_000, "transform::Blur": 225_000, "transform::Crop": 75_000}


def test_a_sample_that_computes_all_the_time_keeps_the_data_wait() -> None:
    assert waits_of(pooled(800)) == {"sample::Pets": 800_000}


def test_a_sample_of_unknown_cpu_time_keeps_the_data_wait() -> None:
    assert waits_of(pooled(None)) == {"sample::Pets": 800_000}


def test_a_workers_own_thread_waits_for_its_pool() -> None:
    """Milliseconds: each of the worker's batches takes 9, of which two threads transform for 8."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    for number in range(4):
        at = 10_000 * number
        builder.step(at, 10_000).wait(at, 9500)
        builder.batch(number, 0, max(0, at - 20_000), at, at + 9000, at + 9500, {"sample::Pets": (at, 9000, 100)})
        for thread in (1, 2):
            builder.add("user_annotation", "transform::Blur", at + 500, 8000, pid=100, tid=thread)
    waits = waits_of(builder)
    assert max(waits, key=waits.__getitem__) == "transform::Blur"
    assert waits["transform::Blur"] > 5 * waits["sample::Pets"]
    assert sum(waits.values()) == 4 * 9_500_000


def test_a_pool_for_each_sample_is_seen_however_many_threads_that_makes() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(80):
        at = 1000 * number
        builder.step(at, 1000).wait(at, 900, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
        builder.add("user_annotation", "sample::Pets", at, 900, cpu_us=0)
        for thread in (2, 3):
            builder.stage("transform::Blur", at + 100, 700, tid=10 * number + thread)
    assert waits_of(builder) == {"sample::Pets": 80 * 200_000, "transform::Blur": 80 * 700_000}
