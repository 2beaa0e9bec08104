from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def test_workers_without_work_and_late_batches_ask_for_a_deeper_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "prefetch_factor": 2}]).worker(0)
    builder.step(0, 1000).wait(0, 300).step(1000, 1000).wait(1000, 10)
    builder.batch(0, 0, 0, 0, 300, 299).batch(1, 0, 1000, 1000, 1005, 1008).batch(2, 0, 1900, 1900, 1950, None)
    said = finding_in(builder, "prefetch_too_shallow")
    assert "prefetch_factor=4" in said.code


def test_workers_idle_at_the_end_of_an_epoch_are_no_reason_for_a_deeper_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 300).batch(0, 0, 0, 0, 300, 299)
    assert finding_of(builder, "prefetch_too_shallow") is None
