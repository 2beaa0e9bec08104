from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def alone(workers: int, cores: int = 4) -> TraceBuilder:
    """A step of 100 us that waits for 60 of them."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers}], host={"cores": cores})
    return builder.step(0, 100).wait(0, 60, "wait::DataLoader")


def test_without_workers_there_is_advice_to_start_some() -> None:
    said = finding_in(alone(0), "single_process_loading")
    assert "num_workers=3 (one less than the 4 CPUs)" in said.advice and "num_workers=3" in said.code
    assert said.gain_text == "saves up to 60.0 µs per step (60.0% of it, 2.5x as fast)"


def test_the_gain_is_limited_by_how_fast_those_workers_build_batches() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], host={"cores": 2}).step(0, 100)
    assert finding_in(builder.wait(0, 90), "single_process_loading").gain_us_per_step == pytest.approx(10)


def test_a_loader_with_workers_has_some() -> None:
    assert finding_of(alone(2), "single_process_loading") is None


def test_what_stays_in_the_training_thread_is_no_gain_of_workers() -> None:
    said = finding_in(alone(0).stage("sampler::ByLoss", 0, 50), "single_process_loading")
    assert said.gain_us_per_step == pytest.approx(10)
    assert any("50.0 µs of it is drawing indices" in fact.text for fact in said.evidence)
    assert finding_of(alone(0).stage("sampler::ByLoss", 0, 60), "single_process_loading") is None
