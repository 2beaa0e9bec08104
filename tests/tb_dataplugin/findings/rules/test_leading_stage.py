from __future__ import annotations

from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, reading
from tests.trace_builder import TraceBuilder, training_run


def test_a_leading_stage_tells_whether_it_computes_or_waits() -> None:
    builder = reading(10**7)
    builder.costs = {"run_delay_us": [0.0]}
    said = finding_in(builder, "leading_stage")
    assert any("was blocked by storage" in line for line in evidence_of(said))


def test_one_slow_call_is_an_outlier_and_no_habit() -> None:
    builder = TraceBuilder().annotated().step(0, 1000).wait(0, 900)
    for number in range(10):
        builder.stage("transform::Resize", 1 + number, 1)
    builder.stage("transform::Resize", 100, 700)
    said = finding_in(builder, "leading_stage")
    assert said.title.startswith("One call of transform::Resize took 700 µs")
    assert said.severity == "low" and not said.HasField("gain_us_per_step")


def test_the_decoder_in_use_gets_its_own_advice() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 90)
    for number in range(8):
        builder.stage("decode::cv2.imread", 1 + 10 * number, 9)
    said = finding_in(builder, "leading_stage")
    assert "cv2" in said.code and "draft" not in said.code + said.advice


def test_the_gain_never_exceeds_the_data_wait_of_the_stage() -> None:
    assert finding_in(training_run(), "leading_stage").gain_us_per_step == 30
