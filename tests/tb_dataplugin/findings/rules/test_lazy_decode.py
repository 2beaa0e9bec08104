from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder, training_run


def test_decoding_inside_a_transform_is_named() -> None:
    said = finding_in(training_run(), "lazy_decode")
    assert "of transform::RandomCrop is decoding, not RandomCrop" in said.title
    assert said.stage == "decode::PIL.Image" and len(evidence_of(said)) == 1


def test_a_decode_that_stands_alone_hides_in_nothing() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90).stage("decode::PIL.Image", 1, 80)
    assert finding_of(builder, "lazy_decode") is None
