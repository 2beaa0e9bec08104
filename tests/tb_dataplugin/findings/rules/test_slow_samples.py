from __future__ import annotations

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.findings.cases import abstentions, capture_of, evidence_of, finding_in
from tests.trace_builder import TraceBuilder


def one_slow_sample(**costs: float) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 900)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        stages = {"sample::Pets": (start, length, 1.0)}
        builder.batch(number, 0, 0, start, start + length, start + length, stages, **costs)
    return builder


def test_slow_samples_are_named_by_their_index() -> None:
    said = finding_in(one_slow_sample(), "slow_samples")
    assert any(line.startswith("index 8: 700") for line in evidence_of(said))


def test_a_sample_that_may_only_have_waited_for_a_cpu_is_not_named() -> None:
    assert "CPU" in abstentions(one_slow_sample(run_delay_us=50))["slow_samples"]


def test_slow_samples_that_nobody_waited_for_are_no_finding() -> None:
    """All batches are finished when the training thread asks for the last one, which is long on its way."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 3000)
    builder.wait(2000, 900)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        consumed = None if number < 8 else 2899
        builder.batch(number, 0, 0, start, start + length, consumed, {"sample::Pets": (start, length, 1.0)})
    capture = capture_of(builder)
    assert next(sample.index for sample in capture.slow_samples) == 8
    assert "slow_samples" not in [finding.rule for finding in capture.findings]


def test_slow_samples_of_the_training_thread_are_named_too() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}])
    for number in range(10):
        took = 9000 if number == 7 else 500
        builder.step(10_000 * number, 10_000).wait(10_000 * number, took + 50, "wait::DataLoader")
        builder.stage("sample::Pets", 10_000 * number + 10, took)
        builder.events[-1]["args"] = {"index": 40 + number}
    capture = capture_of(builder)
    assert (capture.slow_samples[0].index, capture.slow_samples[0].worker) == (47, -1)
    said = finding_in(builder, "slow_samples")
    assert said.title == "1 of 10 samples takes 5x the median or more" and "handed over" not in said.advice
    text = as_text(as_report([capture]))
    assert "Slowest samples" in text and "DataLoader worker  batch" not in text


def filling(*, slow: int | None = None) -> TraceBuilder:
    """An iterable dataset whose first next() reads 16 files into a buffer; `slow`: the number of a slow sample."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "iterable": True}]).worker(0)
    builder.step(0, 2000).wait(0, 1900)
    start = 0.0
    for number in range(9):
        length = 400.0 if number == 0 else 700.0 if number == slow else 25.0
        builder.batch(number, 0, 0, start, start + length, start + length, {"sample::Clips": (start, length)})
        builder.events[-1]["args"]["index"] = -1
        opened = 16 if number == 0 else 1
        for one in range(opened):
            part = 20.0 if opened == 1 else length / opened
            builder.add("user_annotation", "read::open", start + one * part, part - 1, pid=100, tid=100)
        start += length
    return builder


def test_filling_a_buffer_is_the_work_of_many_samples_and_none_of_them_slow() -> None:
    capture = capture_of(filling())
    first = capture.slow_samples[0]
    assert (first.index, first.duration_us, first.work) == (-1, 400, 16)
    assert "slow_samples" not in [finding.rule for finding in capture.findings]
    assert "the work of 16 samples" in as_text(as_report([capture]))


def test_a_slow_sample_beside_a_filled_buffer_is_named_by_its_batch() -> None:
    said = finding_in(filling(slow=5), "slow_samples")
    assert said.title == "1 of 9 samples takes 5x the median or more"
    assert [line for line in evidence_of(said) if "in sample::" in line] == [
        "in batch 5: 700 µs, 97.3% in sample::Clips"
    ]
