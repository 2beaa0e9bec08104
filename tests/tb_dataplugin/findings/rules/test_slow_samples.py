from __future__ import annotations

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
