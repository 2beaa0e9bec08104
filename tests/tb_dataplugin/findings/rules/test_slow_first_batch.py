from __future__ import annotations

from typing import Any

from tests.tb_dataplugin.findings.cases import abstentions, finding_in, finding_of
from tests.trace_builder import TraceBuilder


def epochs(**loader: Any) -> TraceBuilder:
    settings = {"num_workers": 1, "batch_size": 1, "persistent_workers": False, **loader}
    builder = TraceBuilder().annotated(loaders=[settings]).worker(0).step(0, 1000)
    first = "wait::DataLoader (first batch)"
    return builder.wait(0, 100, first).batch(0, 0, 0, 0, 99, 99).step(1000, 1000).wait(1000, 200, first)


def test_an_epoch_that_starts_its_workers_again() -> None:
    said = finding_in(epochs(), "slow_first_batch")
    assert said.gain_us_per_step == 100  # 200 us in one of two steps; the very first start is not to be saved
    assert "persistent_workers=True" in said.code


def test_persistent_workers_are_not_recommended_twice_nor_for_the_only_start() -> None:
    assert finding_of(epochs(persistent_workers=True), "slow_first_batch") is None
    only = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 1000)
    assert "first epoch" in abstentions(only.wait(0, 200, "wait::DataLoader (first batch)"))["slow_first_batch"]


def test_an_epoch_that_no_mark_shows_begins_with_its_batch_0() -> None:
    """As under a profiler that follows DataLoader's own next()."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "persistent_workers": False}])
    builder.worker(0).step(0, 1000).wait(100, 100, "wait::DataLoader").batch(5, 0, 0, 0, 190, 199)
    builder.next_epoch().step(1000, 1000).wait(1000, 300, "wait::DataLoader").batch(0, 0, 1000, 1050, 1290, 1299)
    said = finding_in(builder, "slow_first_batch")
    assert said.gain_us_per_step == 150
    assert "caches" in said.advice
