from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, finding_in
from tests.trace_builder import TraceBuilder


def test_an_uneven_worker_is_named() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800)
    for number in range(3):
        builder.batch(2 * number, 0, 0, 200 * number, 200 * number + 25, 800)
        builder.batch(2 * number + 1, 1, 0, 200 * number, 200 * number + 200, 800)
    assert finding_in(builder, "uneven_workers").title.startswith("DataLoader worker 1 is busy 1.8x")


def test_a_batch_each_does_not_tell_a_slow_worker_from_a_slow_batch() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800).batch(0, 0, 0, 0, 100, 100).batch(1, 1, 0, 0, 800, 799)
    assert "uneven_workers" in abstentions(builder)
