from __future__ import annotations

from tests.tb_dataplugin.findings.cases import abstentions, finding_in, finding_of, reading
from tests.trace_builder import TraceBuilder


def test_many_small_reads_ask_for_packed_records() -> None:
    builder = reading(50_000)
    assert finding_in(builder, "small_reads").gain_us_per_step == 800
    assert finding_of(builder, "leading_stage") is None


def test_large_reads_are_told_as_the_leading_stage() -> None:
    assert finding_of(reading(10**7), "small_reads") is None
    assert finding_in(reading(10**7), "leading_stage").stage == "read::file"
    assert "small_reads" in abstentions(reading(None))


def test_reads_that_import_in_each_worker_are_not_told_to_be_packed() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 4000).wait(0, 3900, "wait::DataLoader")
    for worker in range(2):
        for number in range(8):
            took = 3000.0 if number == 0 else 20.0
            start = 0.0 if number == 0 else 3000.0 + 100 * number
            stages = {"read::PIL.Image.open": (start, took, 10.0), "read::file": (start, 10.0, 5.0, 20_000)}
            batch = 2 * number + worker
            builder.batch(batch, worker, start, start, start + took + 20, 3900, stages)
    said = finding_in(builder, "leading_stage")
    assert said.title.startswith("A few calls of read::PIL.Image.open took up to 3.00 ms; the stage caused")
    assert "persistent_workers" in said.advice and not said.HasField("gain_us_per_step")
    assert finding_of(builder, "small_reads") is None
