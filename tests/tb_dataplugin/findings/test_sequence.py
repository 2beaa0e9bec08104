"""The order of the stages of a sample is the order of their starts, whatever the samples' lengths."""

from __future__ import annotations

from tb_dataplugin.findings.sequence import sequences
from tests.tb_dataplugin.findings.cases import signals_of
from tests.trace_builder import TraceBuilder


def order(builder: TraceBuilder) -> list[list[str]]:
    signals = signals_of(builder)
    return [[step.calls.stage.label for step in sequence] for sequence in sequences(signals.stages)]


def sample(builder: TraceBuilder, start: float, *lengths: tuple[str, float]) -> None:
    builder.stage("sample::Pets", start, sum(length for _, length in lengths) + 1)
    for name, length in lengths:
        builder.stage(f"transform::{name}", start, length)
        start += length


def test_a_transform_that_only_quick_samples_get_keeps_its_place() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    sample(builder, 1, ("Decode", 300), ("Crop", 10))
    sample(builder, 401, ("Decode", 300), ("Crop", 10))
    sample(builder, 801, ("Decode", 10), ("Crop", 10), ("Flip", 10))
    assert order(builder) == [["Decode", "Crop", "Flip"]]


def test_a_container_gives_its_place_to_what_it_holds() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900).stage("sample::Pets", 1, 90)
    builder.stage("transform::Compose", 10, 60).stage("transform::Crop", 11, 20).stage("transform::ToTensor", 40, 20)
    assert order(builder.stage("transform::Last", 75, 5)) == [["Crop", "ToTensor", "Last"]]


def test_a_container_outside_all_stages_is_a_sequence() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900).stage("transform::Compose", 10, 60)
    assert order(builder.stage("transform::Crop", 11, 20).stage("transform::Flip", 40, 20)) == [["Crop", "Flip"]]
