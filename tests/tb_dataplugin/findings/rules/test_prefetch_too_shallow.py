from __future__ import annotations

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, finding_of
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


def drawn_slowly() -> TraceBuilder:
    """Two workers that build a batch in 0.2 ms; of steps of 10 ms 8 are drawing indices, 1 receiving the batch."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 8}], host={"cores": 8})
    builder.worker(0).worker(1)
    for number in range(10):
        begin = 10_000 * number
        builder.step(begin, 10_000).wait(begin, 9_000, "wait::DataLoader").stage("sampler::ByLoss", begin + 900, 8_000)
        built = begin - 19_000
        builder.batch(
            number, number % 2, built, built + 10, built + 210, begin + 9_000, {"sample::Pets": (built + 10, 200)}
        )
    return builder


def test_slow_drawing_of_indices_is_no_reason_for_a_deeper_queue() -> None:
    assert finding_of(drawn_slowly(), "prefetch_too_shallow") is None
    assert finding_in(drawn_slowly(), "leading_stage").stage == "sampler::ByLoss"


def test_what_is_around_the_loader_has_a_rate_and_is_the_limit_where_most_time_goes_to_it() -> None:
    throughput = capture_of(drawn_slowly()).throughput
    assert throughput.around_per_s == pytest.approx(8 / 0.008, rel=0.01)
    assert throughput.samples_per_s < throughput.around_per_s < throughput.device_per_s < throughput.prepare_per_s
    assert throughput.slowest_part == "around"
    text = " ".join(as_text(as_report([capture_of(drawn_slowly())])).split())
    assert "around the loader 1,000, training step" in text and "what is around the loader limits" in text
