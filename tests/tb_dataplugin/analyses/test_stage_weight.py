"""What recording adds to stages: operators, where torch's profiler records them, and spans."""

from __future__ import annotations

from typing import Any

import pytest

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.report.report_pb2 import Capture, Finding, Report, Stage
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of
from tests.trace_builder import TraceBuilder

STEPS, STEP, COLLATE = 8, 1000.0, 400.0


def capture(operators: int, operator_us: float | None = 1.0) -> Capture:
    return capture_of(padding(operators, operator_us))


def padding(operators: int, operator_us: float | None = 1.0, longer: float = 1.0) -> TraceBuilder:
    """Steps of 1 ms without workers: 0.3 ms for a sample, 0.4 ms of collate with so many operators, which cost 2 us
    each (1.2 to 3.1) to record where the probe took 1 us. All that `longer`.
    """
    overhead: dict[str, Any] = {} if operator_us is None else {"operator_us": operator_us}
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}], overhead=overhead)
    for number in range(STEPS):
        begin = longer * STEP * number
        builder.step(begin, longer * STEP).wait(begin, longer * 700, "wait::DataLoader")
        builder.stage("sample::Clicks", begin, longer * 300).stage(
            "collate::pad", begin + longer * 300, longer * COLLATE
        )
        for place in range(operators):
            builder.operator(begin + longer * (301 + 3 * place), longer * 2, "aten::fill_")
    return builder


def stage(capture: Capture, name: str) -> Stage:
    return next(one for one in capture.stages if one.path[-1] == name)


def collating(capture: Capture) -> Finding:
    return next(one for one in capture.findings if one.stage == "collate::pad")


def test_a_stage_has_the_profilers_part_of_its_time() -> None:
    found = capture(100)
    collate, sample = stage(found, "collate::pad"), stage(found, "sample::Clicks")
    assert collate.operators == 800 and collate.profiler_us == pytest.approx(1600)
    assert (sample.operators, sample.profiler_us, sample.profiler_text) == (0, 0, "")
    assert (
        "100 operators per call" in collate.profiler_text
        and "about 50.0% of its self time (30.0% to 77.5%, estimated)" in collate.profiler_text
    )


def test_nothing_is_said_to_be_saved_that_a_run_without_the_profiler_does_not_have() -> None:
    """The bound is without the least that it may be: 100 operators of 1.2 us, where 2 us are likely."""
    found = collating(capture(100))
    assert found.gain_us_per_step == pytest.approx(400 - 120)
    assert any("another 120 µs per step or more, by estimate, is torch's" in text for text in evidence_of(found))
    assert found.confidence != "measured"
    assert collating(capture(0)).gain_us_per_step == pytest.approx(400)


def test_stages_say_it_in_the_terminal_and_below_the_verdict() -> None:
    found = capture(100)
    text = " ".join(as_text(Report(captures=[found])).split())
    assert "collate::pad: 100 operators per call that torch's profiler recorded here are about 50.0%" in text
    assert any("(about 1.60 ms of it recording)" in fact.text for fact in found.verdict.evidence)


def test_few_operators_are_not_worth_a_word() -> None:
    found = capture(5)
    assert not stage(found, "collate::pad").profiler_text
    assert collating(found).gain_us_per_step == pytest.approx(400)


def test_a_probe_by_which_the_profiler_has_nearly_all_of_a_stage_takes_nothing_off() -> None:
    """80.0%, a cap of ours, was said where 49% was true, and the bound was half of the gain."""
    found = capture(100, operator_us=50.0)
    text = "may be torch's profiler, which recorded 100 operators per"
    assert text in stage(found, "collate::pad").profiler_text and "80.0%" not in str(found.stages)
    assert collating(found).gain_us_per_step == pytest.approx(400)
    assert any(text in each for each in evidence_of(collating(found)))


def test_whole_steps_before_the_window_say_what_the_operators_of_stages_took() -> None:
    """0.25 ms of a step, all in the 100 operators of this stage, where 0.2 would be likely."""
    builder = padding(100)
    builder.top_level[METADATA_KEY]["steps"] = {"source": "profiler", "before_us": [750.0] * 10}
    thread = {"cpu_us": STEPS * STEP, "run_delay_us": 0.0, "gc_us": 0.0}
    builder.top_level[METADATA_KEY]["training_thread"] = thread
    found = capture_of(builder)
    assert stage(found, "collate::pad").profiler_us == pytest.approx(8 * 250)
    assert collating(found).gain_us_per_step == pytest.approx(400 - 250)


def slower(operators: int, operator_us: float = 100.0) -> Capture:
    """Steps of 100 ms, which wait for 70: what workers need to send a batch is no limit."""
    return capture_of(padding(operators, operator_us, longer=100.0))


def starting_workers(capture: Capture) -> Finding:
    return next(one for one in capture.findings if one.rule == "single_process_loading")


def test_workers_save_no_more_of_the_wait_than_a_run_without_the_profiler_has() -> None:
    """A stranger's 12.4 ms stood before the better advice, whose bound was without it; his runs waited for 8.1 ms."""
    workers = starting_workers(slower(100))
    assert workers.gain_us_per_step == pytest.approx(70_000 - 12_000)
    text = (
        "another 12.0 ms per step or more, by estimate, is torch's profiler, which recorded 100 operators per step in "
    )
    assert f"{text}the data wait: runs without it do not have that" in evidence_of(workers)
    few = starting_workers(slower(1))
    assert few.gain_us_per_step == pytest.approx(70_000) and not any("recorded" in text for text in evidence_of(few))


def test_where_something_else_limits_what_workers_save_recording_is_said_to_be_part_of_the_wait() -> None:
    workers = starting_workers(capture(100))
    assert workers.gain_us_per_step < 700 - 120
    assert any("of the data wait 120 µs per step or more" in text for text in evidence_of(workers))


def test_what_workers_and_a_faster_stage_save_together_has_no_recording_either() -> None:
    assert "together at most 58.0 ms per step" in slower(100).gains_sentence
    assert "together at most 70.0 ms per step" in slower(1).gains_sentence


def test_where_recording_may_have_most_of_a_stage_nothing_is_taken_off_what_workers_save() -> None:
    workers = starting_workers(slower(100, operator_us=2_000.0))
    assert workers.gain_us_per_step == pytest.approx(70_000)
    assert any("how much of this is recording" in text and "is not known" in text for text in evidence_of(workers))


def test_what_an_operator_costs_may_be_unknown() -> None:
    found = capture(100, operator_us=None)
    assert not stage(found, "collate::pad").HasField("operators")
    assert stage(found, "sample::Clicks").operators == 0
    assert collating(found).gain_us_per_step == pytest.approx(400)


READS = 100
MARKER_US = 0.5
READ_US = 2 * MARKER_US
"""What recording a read costs, of which a fifth lies within it."""


def reading(reads: int = READS, marker_us: float = MARKER_US, operators: int = 0) -> Capture:
    """Steps of 1 ms without workers: 0.7 ms for a sample with so many short reads. What one of its `operators` costs is
    not known.
    """
    builder = TraceBuilder().annotated(
        loaders=[{"num_workers": 0, "batch_size": 1}], overhead={"marker_us": marker_us, "marker_count": 8 * reads}
    )
    for number in range(STEPS):
        begin = STEP * number
        builder.step(begin, STEP).wait(begin, 700, "wait::DataLoader").stage("sample::Reviews", begin, 700)
        for place in range(reads):
            builder.stage("read::file", begin + 1 + 5 * place, 1)
        for place in range(operators):
            builder.operator(begin + 3 + 5 * place, 1, "aten::select")
    return capture_of(builder)


def test_short_spans_weigh_on_themselves_and_most_on_the_stage_around_them() -> None:
    found = reading()
    file, sample = stage(found, "read::file"), stage(found, "sample::Reviews")
    assert (file.spans, sample.spans) == (STEPS * READS, STEPS * (READS + 1))
    assert file.spans_us == file.profiler_us == pytest.approx(0.2 * STEPS * READS * READ_US)
    assert sample.spans_us == pytest.approx(STEPS * (0.8 * READS * READ_US + 0.2 * MARKER_US))
    assert sample.profiler_text.startswith("13.4% of its self time, by estimate, is recording 101 spans per call")
    assert file.profiler_text.startswith("20.0% of its self time, by estimate, is recording 1 span per call")


def test_the_finding_and_the_verdict_leave_spans_out() -> None:
    found = reading()
    finding = next(one for one in found.findings if one.stage == "sample::Reviews")
    assert finding.gain_us_per_step == pytest.approx(600 - 80.1)
    assert any(
        "another 80.1 µs per step or more, by estimate, is recording 101 spans per step" in text
        for text in evidence_of(finding)
    )
    assert any(fact.text.endswith("(about 641 µs of it recording)") for fact in found.verdict.evidence)


def test_what_is_known_of_spans_is_not_all_where_operators_were_recorded_at_an_unknown_cost() -> None:
    """Under a stranger's own profiler 6% was said to be recording, and about half of the stage was."""
    said = "what torch's profiler records in it, and takes for that, was not measured"
    plain, found = reading(), reading(operators=50)
    finding = next(one for one in found.findings if one.stage == "sample::Reviews")
    assert said[1:] in stage(found, "sample::Reviews").profiler_text
    assert any(text.endswith(f"do not have that; {said}") for text in evidence_of(finding))
    assert said[1:] not in stage(plain, "sample::Reviews").profiler_text


def test_the_cost_of_recording_has_what_reads_cost_more() -> None:
    assert reading().environment.recording_cost_us == pytest.approx(STEPS * READS * READ_US)


def test_few_spans_and_spans_of_unknown_cost_are_not_worth_a_word() -> None:
    few = reading(reads=3)
    assert not stage(few, "sample::Reviews").profiler_text
    unknown = capture(0)
    assert not stage(unknown, "sample::Clicks").HasField("spans")


def built(transforms: int, span_us: float = 1.0, took: float = 600.0) -> Capture:
    """A worker that builds all the time, a sample with so many short transforms; the loop waits for it."""
    overhead = {"worker_span_us": span_us, "worker_span_count": (transforms + 1) * (STEPS + 2)}
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 1, "num_workers": 1}], overhead=overhead).worker(0)
    for number in range(STEPS + 2):
        end = STEP * number + 700
        spans = {"sample::Reviews": (end - 940.0, took)}
        builder.batch(number, 0, end - 950, end - 950, end, end if number < STEPS else None, spans)
        for place in range(transforms):
            builder.add("user_annotation", "transform::Lower", end - 939 + 5 * place, 1, pid=100, tid=100)
    for number in range(STEPS):
        builder.step(STEP * number, STEP).wait(STEP * number, 700, "wait::DataLoader")
    return capture_of(builder)


def test_spans_of_workers_are_left_out_too() -> None:
    plain, found = (
        next(one for one in built(100, each_us).findings if one.stage == "sample::Reviews") for each_us in (0.0, 1.0)
    )
    assert not any("recording" in text for text in evidence_of(plain))
    assert any("is recording 101 spans per step" in text for text in evidence_of(found))
    sample = stage(built(100), "sample::Reviews")
    left = 1 - sample.spans_us / sample.self_us
    assert found.gain_us_per_step == pytest.approx(left * plain.gain_us_per_step, rel=0.01)


def test_where_all_of_the_data_wait_can_go_recording_has_nothing_more() -> None:
    found = next(one for one in built(100, took=900.0).findings if one.stage == "sample::Reviews")
    assert found.gain_us_per_step == pytest.approx(700)
    assert not any("recording" in text for text in evidence_of(found))
