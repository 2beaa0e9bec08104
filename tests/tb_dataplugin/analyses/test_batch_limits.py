"""Throughput of a worker, or latency of a batch."""

from __future__ import annotations

from tests.tb_dataplugin.findings.cases import results_of
from tests.trace_builder import TraceBuilder


def test_time_without_an_index_is_none_of_the_throughput() -> None:
    """A worker without an index until 5,000 us builds until 9,990, the next one queued: the wait is its stage's."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(6_000, 4_000, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 100, 200, {"sample::Pets": (0, 100)})
    builder.batch(1, 0, 5_000, 5_000, 9_990, 9_995, {"sample::Pets": (5_000, 4_990)})
    builder.batch(2, 0, 6_000, 9_991, 9_999, None)
    attribution = results_of(builder).attribution
    assert attribution.wait_by_stage_ns is not None
    assert attribution.wait_by_stage_ns["sample::Pets"] > 3_900_000, attribution.wait_by_stage_ns


def test_a_worker_that_begins_late_had_its_index() -> None:
    """Its next index was drawn before it finished, and it began 4 ms later, on a crowded CPU: throughput."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 20_000).wait(6_000, 9_000, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 100, 200, {"sample::Pets": (0, 100)})
    builder.batch(1, 0, 100, 100, 8_100, 14_990, {"sample::Pets": (100, 8_000)})
    builder.batch(2, 0, 8_000, 12_100, 19_000, None)
    attribution = results_of(builder).attribution
    assert attribution.wait_by_stage_ns == {"sample::Pets": 9_000_000}


def test_without_a_queued_index_the_way_of_the_batch_counts() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 20_000).wait(10_000, 5_000, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 100, 200, {"sample::Pets": (0, 100)})
    builder.batch(1, 0, 100, 100, 8_100, 14_990, {"sample::Pets": (100, 8_000)})
    builder.batch(2, 0, 12_000, 12_100, 19_000, None)
    attribution = results_of(builder).attribution
    assert attribution.wait_by_stage_ns == {"transfer": 5_000_000}
