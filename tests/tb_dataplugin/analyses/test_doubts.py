"""What makes a report doubtful stands above all else, and nothing is then called measured."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse, analyse_file, as_report
from tb_dataplugin.reader.kineto import trace_from_json
from tb_dataplugin.report.report_pb2 import Capture, Report
from tb_dataplugin.report.rows import row_of
from tests.tb_dataplugin.findings.cases import input_bound
from tests.trace_builder import TraceBuilder

GOLDEN = Path(__file__).parents[2] / "golden" / "traces"


def capture_of(builder: TraceBuilder) -> Capture:
    return analyse(builder.trace()).capture


def codes(capture: Capture) -> list[str]:
    return [doubt.code for doubt in capture.doubts]


def late_workers(persistent: bool, *notes: str) -> TraceBuilder:
    settings = {"name": "DataLoader", "num_workers": 2, "persistent_workers": persistent}
    builder = TraceBuilder().annotated(loaders=[settings], notes=list(notes))
    for number in range(8):
        builder.step(100 * number, 100).wait(100 * number, 50, "wait::DataLoader")
        builder.stage("sampler::Random", 100 * number + 40, 5)
    return builder


def test_a_sound_capture_has_no_doubts_and_says_what_it_measured() -> None:
    capture = capture_of(input_bound(steps=8))
    assert codes(capture) == []
    assert "measured" in {finding.confidence for finding in capture.findings}


def test_a_short_window_is_doubtful_and_nothing_in_it_is_called_measured() -> None:
    capture = capture_of(input_bound(steps=7))
    assert codes(capture) == ["short_window"]
    assert "only 7 steps" in capture.doubts[0].sentence
    assert capture.findings
    for finding in capture.findings:
        assert finding.confidence != "measured"
        assert finding.confidence_reason.startswith("This capture is doubtful")
        assert "Record at least" not in finding.confidence_reason  # said once, above all


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ({"source": "optimizer", "boundaries_us": [0.0, 1.14e6], "asked_s": 5.0}, "attach: --seconds 40"),
        ({"source": "batch", "boundaries_us": [0.0, 2e6, 4e6, 9e6], "asked_s": 5.0}, "attach: --seconds 24"),
        ({"source": "profiler", "asked_s": 5.0}, "attach: more --seconds"),
        ({"source": "optimizer", "boundaries_us": [0.0, 1.14e6]}, "run: --active 8; annotate.profile: active=8"),
    ],
)
def test_more_steps_are_advised_as_the_window_was_recorded(steps: dict[str, Any], asked: str) -> None:
    """A window of `attach` with one step was told to call prof.step()."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], steps=steps).wait(0, 1e6).operator(1e6, 9e6)
    if steps["source"] == "profiler":
        builder.step(0, 1e7)
    (doubt,) = (each for each in capture_of(builder).doubts if each.code == "short_window")
    assert f"Record at least 8 (tb-dataplugin {asked})" in doubt.sentence


def over(*boundaries: float) -> TraceBuilder:
    """A window that opened with the last batches of a loop over workers; then the program saves a checkpoint."""
    settings = {"name": "DataLoader", "num_workers": 2, "batch_size": 8, "iterated": 1}
    late = "no data from DataLoader workers: the loop's loader was iterated before it was annotated."
    ended = f"the program ended after {max(0, len(boundaries) - 1)} of 10 steps of this window."
    steps = {"source": "batch", "boundaries_us": list(boundaries)}
    builder = TraceBuilder().annotated(loaders=[settings], notes=[ended, late], steps=steps)
    return builder.operator(0, 5_000).wait(6_000, 30, "wait::DataLoader").operator(7_000, 400_000, "save")


def test_a_window_without_a_whole_step_judges_neither_the_loop_nor_what_comes_after() -> None:
    """A stranger's checkpoint after the last epoch had 98.8% "of the step", and his loader was not annotated."""
    for boundaries in ((), (6_030.0,)):
        capture = capture_of(over(*boundaries))
        assert codes(capture) == ["no_whole_step"]
        assert not capture.findings and not capture.HasField("throughput") and capture.verdict.bound == "unknown"
        assert capture.verdict.sentence == (
            "The window has no whole step, so it shows nothing of the loop as it goes on. In its 407 ms the training "
            "thread waited for data for 30.0 µs."
        )
        assert capture.findings_sentence.startswith("Whether there is anything to change is unknown: the window has")
        assert row_of(capture).doubt_text == "no whole step"
        text = as_text(Report(captures=[capture]))
        for wrong in ("not the bottleneck", "annotated", "annotate.loader", "prof.step()", "of the step"):
            assert wrong not in text, wrong


def test_a_window_with_one_whole_step_is_judged_and_so_is_one_that_has_no_record_of_steps() -> None:
    one = capture_of(over(0.0, 6_030.0))
    assert codes(one) == ["late_workers", "short_window"] and "of the window" in one.verdict.sentence
    plain = capture_of(TraceBuilder().operator(0, 5_000).wait(6_000, 30).operator(7_000, 400_000))
    assert codes(plain) == [] and "not the bottleneck" in plain.verdict.sentence


def test_persistent_workers_from_before_are_what_is_advised_about() -> None:
    """The wait is unrecorded, but for the sampler that the training thread runs."""
    capture = capture_of(late_workers(persistent=True))
    assert codes(capture) == ["late_workers"]
    assert "persistent workers had started before the capture" in capture.doubts[0].sentence
    assert dict(capture.loader.wait_by_stage_us) == {"sampler::Random": 40, "unrecorded": 360}
    finding = next(one for one in capture.findings if one.rule == "no_stage_markers")
    assert finding.advice == capture.doubts[0].sentence
    assert "annotate.loader" not in finding.code


def test_what_the_capture_says_of_missing_workers_is_the_doubt() -> None:
    note = "no data from the DataLoader workers of loader 0: they are threads."
    capture = capture_of(late_workers(False, note))
    assert [doubt.sentence for doubt in capture.doubts] == ["N" + note[1:]]


def test_a_file_that_is_cut_off_may_have_lost_its_device() -> None:
    text = input_bound(steps=8).json()
    capture = analyse(trace_from_json(text[: text.index(b'"cat": "kernel"') - 40], Path("cut.json"))).capture
    assert codes(capture)[0] == "cut_off"
    assert not capture.devices and "there may have been a device" in capture.doubts[0].sentence
    (missing,) = (note for note in capture.diagnostics if note.code == "no_device_activity")
    assert missing.title == "Device activity may be in the part of the file that is missing"
    assert all(finding.confidence != "measured" for finding in capture.findings)


def test_a_damaged_file_is_not_waited_for(tmp_path: Path) -> None:
    packed = gzip.compress(input_bound(steps=2_000).json())
    half = len(packed) // 2
    path = tmp_path / "flipped.pt.trace.json.gz"
    path.write_bytes(packed[:half] + bytes(byte ^ 0x55 for byte in packed[half : half + 64]) + packed[half + 64 :])
    (doubt,) = [each for each in analyse_file(path).capture.doubts if each.code == "cut_off"]
    assert doubt.sentence.startswith("The file is damaged") and "wait" not in doubt.sentence


def test_a_file_that_is_cut_off_before_the_training_thread_is_no_program_to_change() -> None:
    """What is missing is the file's end, not a marker: DataLoader workers stand first in it."""
    text = gzip.decompress((GOLDEN / "annotate_workers2.pt.trace.json.gz").read_bytes())
    first = min(text.index(mark) for mark in (b"ProfilerStep#", b"enumerate(DataLoader)", b"wait::"))
    capture = analyse(trace_from_json(text[: text.rindex(b"{", 0, first)], Path("cut.json"))).capture
    assert capture.workers and not capture.HasField("loader")
    assert capture.verdict.sentence.startswith("The file is cut off before the training thread's records")
    said = " ".join([capture.verdict.sentence, *(one.message for one in capture.diagnostics)])
    assert "cut_off_before_waits" in {one.code for one in capture.diagnostics}
    for advice in ("Another thread", "prof.steps", "prof.step()", "captured on a CPU"):
        assert advice not in said


def test_dropped_spans_and_disagreeing_clocks_are_doubts() -> None:
    builder = input_bound(steps=8)
    builder.workers[0]["dropped_spans"] = 7
    builder.batches["arrived_us"] = [time - 5 for time in builder.batches["finished_us"]]
    capture = capture_of(builder)
    assert codes(capture) == ["dropped_spans", "clock_violation"]
    assert "7 spans were dropped" in capture.doubts[0].sentence


def test_lost_stages_are_doubts() -> None:
    builder = input_bound(steps=8)
    builder.annotated(notes=["no sample was recorded: the dataset is not read by the loop"])
    assert codes(capture_of(builder)) == ["data_loss"]


def test_the_terminal_has_the_doubts_right_below_the_verdict() -> None:
    lines = as_text(as_report([capture_of(input_bound(steps=2))])).splitlines()
    assert any(line.startswith("Doubtful: The window has only 2 steps") for line in lines[2:8])


def crowded(own_cpu_us: float, busy: float = 99.0) -> TraceBuilder:
    """8 steps of 100 µs without DataLoader workers, on two CPUs."""
    spent = {"cpu_us": own_cpu_us, "run_delay_us": 0.0, "process_cpu_us": own_cpu_us}
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0}], training_thread=spent)
    for number in range(8):
        builder.step(100 * number, 100).wait(100 * number, 50, "wait::DataLoader")
        builder.stage("sample::Slow", 100 * number, 45)
        builder.counter("host::cpu", 100 * number, **{"core 0": busy, "core 1": busy})
    return builder


def test_other_programs_on_all_cpus_make_it_doubtful() -> None:
    [doubt] = capture_of(crowded(own_cpu_us=700)).doubts
    assert doubt.code == "busy_machine"
    assert "used 1.10 CPUs of 2" in doubt.sentence or "used 1.11 CPUs of 2" in doubt.sentence


def test_a_program_that_uses_all_cpus_itself_is_not_doubtful_for_it() -> None:
    assert codes(capture_of(crowded(own_cpu_us=1500))) == []


def recorded(sampling_us: float, busy: float = 99.0) -> TraceBuilder:
    builder = crowded(own_cpu_us=1200, busy=busy).sampled([100.0 * number + 50 for number in range(8)], [0] * 8)
    builder.top_level["dataPipeline"]["thread_samples"]["cpu_us"] = sampling_us
    return builder


def test_recording_that_has_a_part_of_all_cpus_is_a_doubt_and_no_other_program() -> None:
    [doubt] = capture_of(recorded(sampling_us=360)).doubts
    assert doubt.code == "recorder_load"
    assert doubt.sentence.startswith("The process that samples threads for this recording took 45.0% of one CPU of 2")
    assert "the window lasts only 800 µs" in doubt.sentence
    assert codes(capture_of(crowded(own_cpu_us=1200 - 300))) == ["busy_machine"], "the same CPU time of others"


def test_recording_on_a_free_cpu_or_a_little_of_one_is_none() -> None:
    assert codes(capture_of(recorded(sampling_us=360, busy=70.0))) == []
    assert codes(capture_of(recorded(sampling_us=100))) == []


def test_other_programs_that_leave_cpus_free_are_none_of_its_business() -> None:
    assert codes(capture_of(crowded(own_cpu_us=100, busy=60.0))) == []


def test_a_device_that_only_copied_is_called_idle_with_a_reserve_wherever_that_is_said() -> None:
    builder, known = TraceBuilder().annotated(), TraceBuilder().annotated()
    for number in range(8):
        for each in (builder, known):
            each.step(100 * number, 100).wait(100 * number, 50).memcpy(100 * number + 60, 5)
        known.kernel(100 * number + 70, 20)
    capture, reserve = capture_of(builder), "no kernels were recorded: any compute counts as idle"
    assert codes(capture) == ["no_kernels"] and "device 0 were recorded, only copies" in capture.doubts[0].sentence
    assert capture.verdict.sentence.startswith(f"The device is idle for 95.0% of the window ({reserve});")
    assert f"(95.0%; {reserve})" in capture.devices[0].sentence and capture.devices[0].idle_note == reserve
    row = row_of(capture)
    assert (row.idle_note, row.doubt_text) == (reserve, "no kernels recorded")
    assert f"95.0% of the window ({reserve})," in " ".join(as_text(Report(captures=[capture])).split())
    sound = capture_of(known)
    assert codes(sound) == [] and reserve not in as_text(Report(captures=[sound])) and not row_of(sound).idle_note
