from __future__ import annotations

from collections.abc import Sequence

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

EACH = 700
"""Microseconds of transforms in a sample."""


def small_transforms(*names: str, size: int | None = 400, views: int = 1, call_us: float | None = None) -> TraceBuilder:
    """Ten samples, each an array of `size` bytes that all transforms keep, once for each of its views."""
    transforms = tuple(names) * views
    each = call_us or EACH / len(transforms)
    whole = each * len(transforms) + 100
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 10}]).step(0, 10 * whole + 1000)
    builder.wait(0, 10 * whole)
    for number in range(10):
        begin = whole * number
        builder.stage("sample::Pets", begin, whole - 5)
        _add(builder, "decode::numpy", number, begin + 1, 10, size)
        for place, name in enumerate(transforms):
            _add(builder, f"transform::{name}", number, begin + 12 + place * each, each, size)
    return builder


def _add(builder: TraceBuilder, name: str, sample: int, ts: float, dur: float, size: int | None) -> None:
    known = {} if size is None else {"bytes": size}
    builder.add("user_annotation", name, ts, dur, index=sample, batch=0, epoch=0, **known)


def _said(names: Sequence[str], **how: int) -> str:
    return " ".join(evidence_of(finding_in(small_transforms(*names, **how), "batchable_transforms")))


def test_calls_on_few_bytes_could_be_batched() -> None:
    found = finding_in(small_transforms("Scale", "Gamma"), "batchable_transforms")
    assert found.confidence == "possible"
    beyond = (EACH - 2 * 400 * 0.005) * 10  # without the work on the bytes
    assert abs(found.gain_us_per_step - beyond * 0.9) < 1  # one call of ten is left
    assert not found.code  # what the dataset returns, and whether it can be stacked, was not recorded


def test_the_calls_per_sample_are_said() -> None:
    assert "Scale: 10 calls (1.00 per sample) of 350 µs" in _said(("Scale", "Gamma"))
    assert "Scale: 20 calls (2.00 per sample) of 175 µs" in _said(("Scale", "Gamma"), views=2)


def test_calls_on_pictures_are_work_that_no_batch_saves() -> None:
    assert finding_of(small_transforms("Scale", "Gamma", size=76_800), "batchable_transforms") is None


def test_without_sizes_nothing_shows_overhead() -> None:
    assert finding_of(small_transforms("Scale", "Gamma", size=None), "batchable_transforms") is None


def test_a_small_result_of_a_large_input_is_work_on_the_input() -> None:
    builder = small_transforms("Scale", "Gamma")
    builder.events = [
        {**event, "args": {**event["args"], "bytes": 200_000}} if event["name"] == "decode::numpy" else event
        for event in builder.events
    ]
    assert finding_of(builder, "batchable_transforms") is None


def test_random_transforms_are_not_to_be_batched() -> None:
    assert finding_of(small_transforms("RandomErasing"), "batchable_transforms") is None


def test_one_small_transform_has_one_finding_which_says_that_too() -> None:
    builder = small_transforms("Scale", call_us=400)
    assert finding_of(builder, "batchable_transforms") is None
    assert "once per batch" in finding_in(builder, "leading_stage").advice


def test_long_calls_are_arithmetic_that_no_batch_saves() -> None:
    assert finding_of(small_transforms("Blur", "Gamma", call_us=800), "batchable_transforms") is None
