"""What runs once per batch, of sides whose batches differ in size."""

from __future__ import annotations

import numpy as np
import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.report.report_pb2 import Capture, Comparison, Quantity
from tests.simulated_run import Simulation, runs

NAME = "collate::default_collate"


def captured(batch_size: int, sample_us: float, seed: int) -> Capture:
    """Collate takes that long for each sample of its batch."""
    random = np.random.default_rng(seed)
    (capture,) = runs(Simulation(steps=32, batch_size=batch_size), random, 1)
    took = batch_size * sample_us * random.lognormal(0, 0.02, capture.steps.count)
    capture.stages.add(
        kind="collate",
        label="default_collate",
        path=[NAME],
        count=len(took),
        self_us=took.sum(),
        block_worker=[number % 2 for number in range(len(took))],
        block_count=[1] * len(took),
        block_self_us=took,
        block_cpu_us=took,
    )
    return capture


def collate(comparison: Comparison) -> Quantity:
    return next(stage for stage in comparison.stages if stage.name == NAME)


def test_what_runs_once_per_batch_is_compared_per_sample_where_batches_differ_in_size() -> None:
    found = compare([captured(2, 500, 1)], [captured(8, 450, 2)])
    row = collate(found)
    assert row.before_us == pytest.approx(500, rel=0.05) and row.change == pytest.approx(-0.1, abs=0.03)
    assert row.interval_text.endswith("; per sample: a batch has 2 before, 8 after")
    assert not any("per sample: a batch" in stage.interval_text for stage in found.stages if stage.name != NAME)
    assert not any(NAME in fact.text and "per call" in fact.text for fact in found.evidence)


def test_a_certain_change_of_it_says_that_it_is_per_sample() -> None:
    found = compare([captured(2, 500, 1)], [captured(8, 2000, 2)])
    assert collate(found).outcome == "slower" and collate(found).change == pytest.approx(3, rel=0.1)
    assert any(fact.text.startswith(f"{NAME}: CPU time per sample in a typical batch") for fact in found.evidence)


def test_of_batches_of_one_size_it_is_per_call_as_ever() -> None:
    row = collate(compare([captured(4, 500, 1)], [captured(4, 450, 2)]))
    assert row.before_us == pytest.approx(2000, rel=0.05) and "per sample" not in row.interval_text
