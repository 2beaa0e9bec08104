from __future__ import annotations

from tests.tb_dataplugin.findings.cases import finding_in, finding_of
from tests.trace_builder import TraceBuilder


def small_transforms(*names: str) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 10}]).step(0, 1000).wait(0, 900)
    for number in range(10):
        builder.stage("sample::Pets", 90 * number, 80)
        for place, name in enumerate(names):
            each = 70 // len(names)
            builder.stage(f"transform::{name}", 90 * number + 5 + place * each, each)
    return builder


def test_many_small_transforms_could_be_batched() -> None:
    said = finding_in(small_transforms("Scale", "Gamma"), "batchable_transforms")
    assert said.confidence == "possible" and said.gain_us_per_step == 700


def test_random_transforms_are_not_to_be_batched() -> None:
    assert finding_of(small_transforms("RandomErasing"), "batchable_transforms") is None


def test_one_small_transform_has_one_finding_which_says_that_too() -> None:
    builder = small_transforms("Scale")
    assert finding_of(builder, "batchable_transforms") is None
    assert "once per batch" in finding_in(builder, "leading_stage").advice


def test_long_calls_are_arithmetic_that_no_batch_saves() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 10}]).step(0, 20_000)
    builder.wait(0, 19_000)
    for number in range(10):
        builder.stage("sample::Pets", 1900 * number, 1800)
        for place, name in enumerate(("Blur", "Gamma")):
            builder.stage(f"transform::{name}", 1900 * number + 5 + place * 800, 800)
    assert finding_of(builder, "batchable_transforms") is None
