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


def sent_ahead(last_finished: float) -> TraceBuilder:
    """A worker that always has its next index, and had sent batches 0 and 1 long before they were asked for."""
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]).worker(0)
    got_last = max(30_000, last_finished) + 1_000
    times = ((10, 4_000, 10_000, 10_500), (4_010, 8_000, 20_000, 20_500), (8_010, last_finished, 30_000, got_last))
    for number, (begun, finished, asked, got) in enumerate(times):
        builder.step(asked, 10_000).wait(asked, got - asked, "wait::DataLoader")
        builder.batch(number, 0, 0, begun, finished, got, {"sample::Pets": (begun, finished - begun)})
        builder.moments(serialise_us=finished + 10, serialised_us=finished + 100, deserialise_us=got - 400)
    return builder.batch(3, 0, 0, last_finished + 10, 60_000, None)


def test_a_batch_that_was_sent_long_before_it_was_asked_for_waits_for_its_way() -> None:
    """Faster building would not make its wait shorter, however busy its worker is."""
    by_stage = results_of(sent_ahead(12_000)).attribution.wait_by_stage_ns
    assert by_stage is not None and "sample::Pets" not in by_stage, by_stage


def test_what_such_a_wait_takes_is_waited_for_anyway_where_a_later_batch_is_late() -> None:
    by_stage = results_of(sent_ahead(34_000)).attribution.wait_by_stage_ns
    assert by_stage is not None and by_stage["sample::Pets"] > 5_000_000, by_stage
