from __future__ import annotations

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder, training_run


def capture_of(builder: TraceBuilder) -> Capture:
    return analyse(builder.trace()).capture


def rules(builder: TraceBuilder) -> list[str]:
    return [finding.rule for finding in capture_of(builder).findings]


def test_an_input_bound_run_names_the_stage_and_its_share() -> None:
    capture = capture_of(training_run())
    assert "decode::PIL.Image" in capture.verdict.sentence
    assert "75.0% of the data wait" in capture.verdict.sentence
    assert capture.verdict.bound == "cpu"


def test_a_slow_read_differs_from_slow_preparation() -> None:
    builder = TraceBuilder().annotated().step(0, 100).wait(0, 50).stage("read::file", 1, 45)
    assert capture_of(builder).verdict.bound == "read"


def test_findings_of_an_input_bound_run() -> None:
    # 10 of 100 us pass between the batch's arrival and the first kernel.
    assert rules(training_run()) == [
        "leading_stage",
        "launch_bound",
        "further_stages",
        "lazy_decode",
        "single_process_loading",  # no worker hands over a batch in 40 us
    ]


def test_a_busy_device_gets_no_advice_about_the_loader() -> None:
    builder = TraceBuilder().step(0, 100).wait(0, 40).stage("transform::Slow", 1, 38).kernel(0, 99)
    capture = capture_of(builder)
    assert capture.verdict.bound == "device"
    assert rules(builder) == ["device_bound"]
    assert "leave the DataLoader alone" in capture.findings[0].title


def test_a_device_idle_for_many_small_reasons_is_balanced() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).step(0, 1000).wait(0, 30, "wait::DataLoader")
    builder.operator(30, 30).call("cudaLaunchKernel", 60, 5, correlation=1).kernel(70, 300, correlation=1)
    builder.call("cudaLaunchKernel", 395, 5, correlation=2).kernel(400, 600, correlation=2)
    verdict = capture_of(builder).verdict
    assert verdict.bound == "balanced"
    assert verdict.sentence.startswith("The device is idle for 10.0% of the window, for no single reason")


def test_a_hidden_wait_gets_no_advice() -> None:
    assert rules(TraceBuilder().annotated().step(0, 100).wait(0, 40).kernel(0, 60)) == []


def test_no_advice_to_use_workers_when_the_number_is_unknown() -> None:
    builder = TraceBuilder().step(0, 100).wait(0, 40, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
    assert rules(builder) == ["no_stage_markers"]


def test_a_replay_speaks_of_the_replay_and_promises_no_gain() -> None:
    builder = training_run().annotated(mode="replay", loaders=[{"num_workers": 4}])
    capture = capture_of(builder)
    assert capture.verdict.sentence.startswith("In the replay")
    assert not any(finding.HasField("gain_us_per_step") for finding in capture.findings)


def test_time_between_stages_is_not_pinned_on_the_largest_stage() -> None:
    builder = TraceBuilder().annotated(mode="replay").step(0, 100).wait(0, 90).stage("sample::Bad", 1, 2)
    assert "sample::Bad" not in capture_of(builder).verdict.sentence
