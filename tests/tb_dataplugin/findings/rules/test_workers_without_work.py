from __future__ import annotations

from collections.abc import Sequence

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def iterated(workers: Sequence[int], num_workers: int, epochs: int = 1, **settings: object) -> TraceBuilder:
    """`workers`: which built each batch of an epoch."""
    loader = {"name": "DataLoader", "num_workers": num_workers, "in_order": True, **settings}
    builder = TraceBuilder().annotated(loaders=[loader])
    for worker in sorted(set(workers)):
        builder.worker(worker)
    for number in range(epochs):
        for place, worker in enumerate(workers):
            at = 20_000.0 * (place + number * len(workers))
            builder.wait(at, 1_000).operator(at + 1_000, 18_000).step(at, 20_000)
            builder.batch(place, worker, at, at + 2_000, at + 12_000, at + 15_000)
        builder.next_epoch()
    return builder


def test_workers_of_an_iterable_without_a_shard_have_nothing_to_do() -> None:
    found = finding_in(iterated([0] * 6, 2, iterable=True), "workers_without_work")
    assert found.title == "1 of 2 DataLoader workers had nothing to do"
    assert found.code == "DataLoader(..., num_workers=1)"
    assert "set num_workers=1" in found.advice and found.evidence[0].value == 0.5


def test_more_workers_than_batches_in_an_epoch_are_too_many() -> None:
    found = finding_in(iterated([0, 1], 4, epochs=3), "workers_without_work")
    assert found.title == "2 of 4 DataLoader workers had nothing to do"
    assert "An epoch has 2 batches" in found.advice


def test_workers_that_share_the_batches_all_have_work() -> None:
    assert finding_of(iterated([0, 1, 0, 1], 2, iterable=True), "workers_without_work") is None
    assert finding_of(iterated([0, 1], 4), "workers_without_work") is None  # the epoch may go on
