"""The sentence above each table, and the thresholds that choose it."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.worker_summary import WorkerSummary
from tb_dataplugin.findings.steady_sentence import steady_sentence
from tb_dataplugin.findings.worker_sentences import worker_sentence
from tb_dataplugin.model.intervals import Window
from tests.tb_dataplugin.findings.cases import capture_of, input_bound
from tests.tb_dataplugin.findings.uneven_cases import QUICK, SLOW, in_turns, last_part, unequal_parts
from tests.trace_builder import TraceBuilder, training_run


def workers(busy: int, wait: int | None, **other: float | int | None) -> WorkerSummary:
    """Of a window of 100 ns."""
    known: dict[str, float | int | None] = {
        "loader": 0, "workers": 2, "processes": 2, "batches": 8, "alive_ns": 100, "busy_ns": busy,
        "starved_ns": 0, "epoch_over_ns": 0, "startup_ns": 0, "head_of_line_ns": None, "wait_ns": wait,
        "ready_wait_share": 0.0, "most_skewed": 1, "skew": 1.0,
    }  # fmt: skip
    return WorkerSummary(**(known | other))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        (workers(90, 40), "still waits 40.0% of it: they cannot keep up"),
        (workers(90, 20), "still waits 20.0% of it: they cannot keep up"),
        (workers(90, 19), "thread waits 19.0% of it: they nearly keep up, and faster batches save at most that"),
        (workers(90, 6, workers=1), "it nearly keeps up, and faster batches save at most that"),
        (workers(30, 40), "busy 30.0% of the window, yet the training thread waits 40.0% of it."),
        (workers(60, 40), "and the training thread waits 40.0% of it."),
        (workers(90, 1), "they keep up, with little to spare"),
        (workers(30, 1), "more of them would not help"),
        (workers(60, 1), "they keep up."),
        (
            workers(90, 40, ready_wait_share=0.8),
            "mostly while finished batches are in the queue: building them is not the bottleneck",
        ),
        (workers(90, None), "2 DataLoader workers are busy 90.0% of the window."),
        (workers(90, 40, skew=1.8), "DataLoader worker 1 has 1.8x the mean work."),
    ],
)
def test_workers_are_judged_by_how_busy_they_are_and_how_long_is_waited(summary: WorkerSummary, words: str) -> None:
    assert words in worker_sentence(summary, Window(0, 100))


def test_building_is_the_bottleneck_where_its_stages_caused_the_data_wait_though_batches_are_ready_when_asked_for() -> (
    None
):
    summary = workers(90, 40, ready_wait_share=0.8)
    assert "still waits 40.0% of it: they cannot keep up" in worker_sentence(summary, Window(0, 100), 0.84)
    assert "building them is 32.6% of that." in worker_sentence(summary, Window(0, 100), 0.326)
    assert "building them is not the bottleneck" in worker_sentence(summary, Window(0, 100), 0.05)


def test_batches_that_are_finished_when_asked_for_are_said_to_be_on_their_way_whatever_made_them_late() -> None:
    said = worker_sentence(workers(57, 15, ready_wait_share=0.6), Window(0, 100), 0.6)
    assert said.endswith("mostly for finished batches that are on their way while the next are built.")
    assert "on their way" not in worker_sentence(workers(57, 15, ready_wait_share=0.4), Window(0, 100), 0.6)


def test_faster_batches_save_more_than_the_data_wait_where_the_step_waits_for_cpus_that_workers_have() -> None:
    said = worker_sentence(workers(90, 19), Window(0, 100), gives_cpus=True)
    assert "save at most that plus the CPU time that the step gets back (see Findings)." in said


def test_more_workers_are_said_to_bring_nothing_where_the_model_expects_nothing_of_them() -> None:
    said = worker_sentence(workers(30, 40), Window(0, 100), more_in_vain=lambda: True)
    assert said.endswith("waits 40.0% of it: more DataLoader workers would not shorten the data wait.")


def test_workers_that_take_turns_wait_for_the_slowest() -> None:
    said = capture_of(in_turns((QUICK, SLOW))).worker_summaries[0].sentence
    assert ": batches are taken from them in turn, and DataLoader worker 1 needs 34.0 ms for a batch, the other" in said
    assert "more DataLoader workers" not in said and "mean work" not in said
    several = capture_of(in_turns((SLOW, QUICK, SLOW, QUICK))).worker_summaries[0].sentence
    assert "DataLoader workers 0 and 2 need 34.0 ms for a batch, the others 600 µs." in several
    assert (
        "taken from them in turn"
        not in capture_of(in_turns((QUICK, SLOW), in_order=False)).worker_summaries[0].sentence
    )


def test_parts_of_unequal_size_are_counted_and_nothing_is_said_of_more_workers() -> None:
    said = capture_of(unequal_parts()).worker_summaries[0].sentence
    parts = (
        "DataLoader worker 0 delivers 24 of the 33 batches of 3 epochs: the parts of the dataset are of unequal size."
    )
    assert said.endswith(parts) and "more DataLoader workers" not in said


@pytest.mark.parametrize("ended", [False, True])
def test_only_workers_that_lived_in_the_window_are_called_busy(ended: bool) -> None:
    (summary,) = capture_of(last_part(ended=ended)).worker_summaries
    assert summary.sentence.startswith("1 of 2 DataLoader workers is busy 99.3% of the window and")
    assert "DataLoader worker 0 delivers all 40" in summary.sentence


def test_few_batches_are_not_uneven_work() -> None:
    assert "mean work" not in worker_sentence(workers(90, 40, skew=1.8, batches=3), Window(0, 100))


def test_three_nearly_equal_numbers_are_related_in_one_line() -> None:
    builder = TraceBuilder().step(0, 1000).call("cudaLaunchKernel", 100, 5, 7).wait(105, 400)
    sentence = capture_of(builder.kernel(600, 400, correlation=7)).loader.wait_sentence
    assert "400 µs exposed (device idle) and 0 µs hidden (device busy)" in sentence
    assert "0 µs kept the device idle; during the other 400 µs, something else did" in sentence


def test_the_stage_with_the_highest_self_time_is_named_with_its_whole() -> None:
    summary = capture_of(training_run()).stage_summary
    assert summary.sentence.startswith("decode::PIL.Image has the highest self time: ")
    assert sum(summary.self_by_kind_us.values()) == pytest.approx(summary.self_us)
    assert "caused by stages" in summary.wait_text


def test_a_device_has_its_largest_cause_in_words() -> None:
    (device,) = capture_of(training_run()).devices
    assert device.sentence.startswith("Device 0") and "The largest cause is data wait" in device.sentence


def test_what_was_launched_in_time_and_what_late_are_parts_of_the_cause_launch() -> None:
    builder = TraceBuilder().annotated().step(0, 100).operator(0, 20)
    builder.call("cudaLaunchKernel", 2, 6, 1).call("cudaLaunchKernel", 12, 5, 2)
    (device,) = capture_of(builder.kernel(10, 40, correlation=1).kernel(70, 30, correlation=2)).devices
    assert device.sentence.endswith(
        "The largest cause is launch: 30.0% of the window (10.0% launched late, 20.0% launched but not started)."
    )


def test_how_self_time_divides_is_said() -> None:
    stages = capture_of(input_bound(run_delay=0.0)).stages
    (slow,) = (stage for stage in stages if stage.label == "Slow")
    assert slow.limited_by_text.startswith("For 100% of its self time it was running on a CPU")
    estimate = "an estimate, from what its threads were seen to wait for"
    assert f"0% waiting for a CPU ({estimate})" in slow.limited_by_text


def test_findings_have_a_sentence_and_so_has_their_absence() -> None:
    assert "saves up to" in capture_of(input_bound()).findings_sentence
    healthy = TraceBuilder().annotated().step(0, 100).wait(0, 40).kernel(0, 60)
    assert capture_of(healthy).findings_sentence.startswith("No rule found anything to change: the device is idle")
    blind = TraceBuilder().step(0, 100)
    assert capture_of(blind).findings_sentence.startswith("Whether there is anything to change is unknown.")


def _steady(measured: float, value: float, low: float, high: float) -> str:
    wait = Estimate(value * 1e6, low * 1e6, high * 1e6)
    steady = SteadyState("draining", measured * 1e6, measured, wait, Estimate(value, low, high), 100.0, 1e6, 4.0, 1.0)
    return steady_sentence(steady)


def test_a_steady_state_that_is_what_was_measured_is_not_said_to_differ() -> None:
    assert "yet the measured data wait, 8.06% of the step, is about that" in _steady(0.0806, 0.0806, 0.0806, 0.1)
    assert "is not that of the steady state: about 20.0%" in _steady(0.0806, 0.2, 0.15, 0.3)


def test_an_interval_that_contains_what_was_measured_leaves_it_open() -> None:
    said = _steady(0.0806, 0.2, 0.0806, 0.3)
    assert "may have more than the measured data wait, 8.06% of the step: about 20.0%" in said and "is not" not in said


def test_what_of_a_start_is_the_users_worker_init_fn() -> None:
    """Where the start is a part of the window at all."""
    assert worker_sentence(workers(30, 40, startup_ns=20, init_ns=15), Window(0, 100)).endswith(
        ". A start takes up to 0.0200 µs, 0.0150 µs of that in its worker_init_fn."
    )
    for known in ({"startup_ns": 20}, {"startup_ns": 20, "init_ns": 1}):
        assert "A start" not in worker_sentence(workers(30, 40, **known), Window(0, 100))
    assert "A start" not in worker_sentence(workers(30, 40, startup_ns=20, init_ns=15), Window(0, 10_000))
