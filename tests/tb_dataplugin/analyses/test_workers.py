"""Captures with DataLoader workers, with known answers."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.samples import Habit, Samples, SlowSample, listed_samples
from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.options import AnalysisOptions, StepRange
from tb_dataplugin.pipeline import analyse
from tests.trace_builder import TraceBuilder


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def one_wait() -> TraceBuilder:
    """A step of 100 us that waits from 10 to 60 for batch 0 of worker 0.

    The worker is not ready until 15, gets its index at 20, starts at 25, decodes from 30 to 50 and finishes at 55.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 4}])
    builder.step(0, 100).wait(10, 50, "wait::DataLoader").worker(0, started=15)
    return builder.batch(0, 0, 20, 25, 55, 59, {"sample::Pets": (28, 25), "decode::PIL.Image": (30, 20)})


def test_a_wait_is_passed_on_to_what_the_worker_was_in() -> None:
    found = capture_of(one_wait())
    assert found["loader"]["wait_by_stage_us"] == {
        "decode::PIL.Image": 20,
        "sample::Pets": 5,
        "startup": 5,  # 10 to 15: the process was not running yet
        "starved": 5,  # 15 to 20: no index yet
        "transfer::index": 5,  # 20 to 25: its index was on its way
        "other": 5,  # 25 to 28, before the sample; 53 to 55, after it
        "transfer": 5,
    }
    assert sum(found["loader"]["wait_by_stage_us"].values()) == 50


def test_start_up_has_its_own_name() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(0, 60).worker(0, started=40)
    builder.batch(0, 0, 5, 45, 55, 59, {"sample::Pets": (45, 10)})
    blame = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert blame == {"startup": 45, "sample::Pets": 10, "transfer": 5}  # it began with its first index at 45


def test_an_epochs_last_wait_in_which_workers_end_is_their_shutdown() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).worker(0, ended=88)
    builder.wait(10, 20, "wait::DataLoader").batch(0, 0, 10, 10, 28, 30, {"sample::Pets": (10, 18)})
    builder.wait(60, 10, "wait::DataLoader").wait(75, 15, "wait::DataLoader")
    blame = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert blame == {"sample::Pets": 18, "transfer": 2, "unrecorded": 10, "shutdown": 15}


def test_validation_inside_a_step_is_blamed_on_its_own_loaders_worker() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}, {"num_workers": 1}]).step(0, 100)
    builder.wait(0, 20, "wait::DataLoader").worker(0, started=-90, pid=101)
    builder.batch(3, 0, 0, 0, 15, 19, {"transform::Train": (0, 15)})
    builder.wait(50, 30, "wait::DataLoader").worker(0, started=-90, loader=1, pid=201)
    builder.batch(0, 0, 50, 52, 75, 79, {"transform::Validate": (53, 22)}).of_loader(1)
    blame = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert blame == {
        "transform::Train": 15,
        "transform::Validate": 22,
        "transfer::index": 2,  # 50 to 52: the worker had been at rest
        "other": 1,
        "transfer": 5 + 5,
    }


def test_each_wait_is_blamed_on_the_worker_that_made_its_batch() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).step(0, 100)
    builder.wait(0, 20, "wait::DataLoader").wait(50, 20, "wait::DataLoader").worker(0).worker(1)
    builder.batch(0, 0, 0, 0, 20, 20, {"transform::Slow": (0, 20)})
    builder.batch(1, 1, 0, 0, 70, 70, {"decode::PIL.Image": (0, 70)})
    blame = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert blame == {"transform::Slow": 20, "decode::PIL.Image": 20}


def test_what_a_busy_worker_did_before_the_recording_is_not_time_between_stages() -> None:
    """Milliseconds: batch 2 is built from 0 to 40 with stages from 20 on, batch 0 before any was recorded."""
    ms = 1000
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(10 * ms, 90 * ms).worker(0, started=-99 * ms)
    builder.wait(10 * ms, 2 * ms, "wait::DataLoader").wait(30 * ms, 12 * ms, "wait::DataLoader")
    builder.batch(7, 0, -90 * ms, -40 * ms, 0, 11 * ms)
    builder.batch(8, 0, -90 * ms, 0, 40 * ms, 41 * ms, {"transform::Slow": (20 * ms, 20 * ms)})
    builder.batch(9, 0, -90 * ms, 40 * ms, 80 * ms, None, {"transform::Slow": (40 * ms, 40 * ms)})
    waits = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert waits == {"unrecorded": 2 * ms, "transform::Slow": 12 * ms}


def test_a_batch_that_was_ready_costs_only_transfer() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(50, 2, "wait::DataLoader")
    builder.worker(0).batch(0, 0, 0, 0, 20, 51, {"sample::Pets": (0, 20)})
    found = capture_of(builder)
    assert found["loader"]["wait_by_stage_us"] == {"transfer": 2}
    assert found["batches"][0]["in_queue_us"] == 30
    assert found["batches"][0]["wait_us"] == 2


def test_a_wait_without_a_record_is_said_to_be_unrecorded() -> None:
    builder = one_wait().wait(80, 10, "wait::DataLoader")
    blame = capture_of(builder)["loader"]["wait_by_stage_us"]
    assert blame["unrecorded"] == 10
    assert sum(blame.values()) == 60


def test_busy_and_idle_fill_the_lifetime_and_starved_is_idle_without_an_index() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(0, 1).worker(0)
    builder.batch(0, 0, 0, 10, 30, 40).batch(1, 0, 60, 62, 72, 80)
    worker = capture_of(builder)["workers"][0]
    assert (worker["busy_us"], worker["idle_us"]) == (30, 70)
    assert worker["starved_us"] == 30  # 30 to 60
    assert worker["epoch_over_us"] == 28  # from 72 on there was nothing to give
    assert worker["batches"] == 2


def test_a_worker_without_an_index_while_its_epoch_goes_on_behind_the_window_is_starved() -> None:
    """Two take turns; the loop waits for the other one's batch from 60 on, which arrives at 90."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "iterable": True}]).step(0, 100).wait(60, 30)
    builder.worker(0).worker(1)
    builder.batch(0, 0, 0, 0, 10, 20).batch(1, 1, 0, 0, 25, 25).batch(2, 0, 0, 10, 20, 30)
    builder.batch(3, 1, 0, 25, 90, 90).batch(4, 0, 20, 20, 30, None).batch(6, 0, 30, 30, 40, None)
    first = capture_of(builder)["workers"][0]
    assert (first["starved_us"], first["epoch_over_us"]) == (60, 0)


def test_a_worker_that_got_no_index_in_its_turn_is_at_its_end() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "iterable": True}]).step(0, 100).wait(60, 30)
    builder.worker(0).worker(1).batch(0, 0, 0, 0, 10, 20)
    for number, begin in enumerate((0, 25, 50, 75), start=1):
        builder.batch(number, 1, begin, begin, begin + 24, begin + 24)
    first = capture_of(builder)["workers"][0]
    assert (first["starved_us"], first["epoch_over_us"]) == (0, 90)


def test_a_window_of_nothing_but_prefetched_batches_is_said_to_be_too_short() -> None:
    def codes(finished: float) -> set[str]:
        builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(100, 100).wait(100, 1).worker(0)
        found = capture_of(builder.batch(0, 0, 0, 10, 30, 101).batch(1, 0, 0, 40, finished, 150))
        return {one["code"] for one in found["diagnostics"]}

    assert "batches_from_before" in codes(60)
    assert "batches_from_before" not in codes(140)


def test_a_chosen_step_whose_batch_was_finished_before_it_names_the_others_that_it_shows() -> None:
    """Its batch is finished when the step begins, and still on its way; the worker builds the next one meanwhile."""

    def note(steps: str | None) -> str:
        builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).worker(0)
        for number in range(3):
            at = 100 * number
            builder.step(at, 100).wait(at, 80, "wait::DataLoader")
            builder.batch(number, 0, at - 99, at - 98, at - 10, at + 75)
        options = AnalysisOptions(steps=None if steps is None else StepRange.parse(steps))
        found = as_dict(analyse(builder.trace(), options).capture)["diagnostics"]
        return next((one["message"] for one in found if one["code"] == "batches_from_before"), "")

    chosen = note("2..2")
    assert (
        "how its batch was built: the one that the loop got in it had been finished by a DataLoader worker before"
        in chosen
    )
    assert "stages and build times are of others. Choose more steps" in chosen
    assert "or record more: annotate.profile(" in chosen
    assert note("1..2") == note(None) == ""  # the later step's batch is built in them


def test_uneven_workers_show_their_skew() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).step(0, 100).wait(0, 1).worker(0).worker(1)
    builder.batch(0, 0, 0, 0, 60, 60).batch(1, 1, 0, 0, 20, 61)
    assert [worker["skew"] for worker in capture_of(builder)["workers"]] == [1.5, 0.5]


def test_a_worker_has_the_build_times_of_the_batches_that_it_finished_in_the_window() -> None:
    """Equally busy, one may build faster: skew does not say so."""
    loaders = [{"num_workers": 3}]
    builder = TraceBuilder().annotated(loaders=loaders).step(0, 100).wait(0, 1).worker(0).worker(1).worker(2)
    builder.batch(0, 0, 0, 0, 70, 70).batch(1, 1, 0, 0, 20, 20).batch(2, 0, 0, 70, 100, 120)
    capture = capture_of(builder.batch(3, 1, 0, 20, 60, 60).batch(4, 1, 0, 60, 90, 90))
    times = [(worker.get("mean_build_us"), worker.get("longest_build_us")) for worker in capture["workers"]]
    assert times == [(70, 70), (30, 40), (None, None)]


def test_a_batch_behind_a_slow_one_is_held_back_while_the_training_thread_waits() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2}]).step(0, 100).wait(10, 50, "wait::DataLoader")
    builder.wait(70, 1, "wait::DataLoader").worker(0).worker(1)
    builder.batch(0, 0, 0, 0, 58, 59).batch(1, 1, 0, 0, 20, 70.5)
    held_back = {batch["number"]: batch["head_of_line_us"] for batch in capture_of(builder)["batches"]}
    assert held_back == {0: 0, 1: 38}


def test_a_finished_batch_holds_back_none_while_the_training_thread_receives_it_or_draws_indices() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(10, 50, "wait::DataLoader")
    builder.wait(70, 1, "wait::DataLoader").worker(0)
    builder.batch(0, 0, 0, 0, 8, 59).batch(1, 0, 0, 8, 20, 70.5)
    assert {batch["number"]: batch["head_of_line_us"] for batch in capture_of(builder)["batches"]} == {0: 0, 1: 0}


def test_queue_depth_counts_batches_in_flight_and_ready() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 100).wait(0, 1).worker(0)
    builder.batch(0, 0, 5, 10, 30, 40).batch(1, 0, 5, 30, 50, 80)
    queue = capture_of(builder)["queues"][0]
    assert list(zip(queue["time_us"], queue["ready"], queue["in_flight"], strict=True)) == [
        (5, 0, 2), (30, 1, 1), (40, 0, 1), (50, 1, 0), (80, 0, 0),
    ]  # fmt: skip


def test_slow_samples_name_index_worker_and_stage() -> None:
    found = capture_of(one_wait())["slow_samples"]
    assert [(one["index"], one["worker"], one["stage"], one["stage_us"]) for one in found] == [
        (0, 0, "decode::PIL.Image", 20)
    ]


def slow(duration: int, *, apart: bool = False, first: bool = False) -> SlowSample:
    return SlowSample(0, 0, duration, 0, 0, 0, 0, "sample::A", duration, apart=apart, first=first)


def listed(*samples: SlowSample, habit: Habit | None = None) -> list[int]:
    known = Samples(samples, habits={} if habit is None else {0: habit})
    return [one.duration_ns for one in listed_samples(known)]


def test_what_takes_little_beside_the_slowest_sample_is_not_listed_as_slow() -> None:
    assert listed(slow(94), slow(66), slow(9), slow(3)) == [94, 66]
    assert len(listed(slow(94), slow(90), slow(80))) == 3
    assert listed() == []


def test_what_is_many_times_as_slow_as_usual_is_listed_however_slow_the_slowest_is() -> None:
    habit = Habit(30, 3, 3, are_even=False, slow=3, slow_ns=18)
    assert listed(slow(253), slow(25), slow(18), slow(9), habit=habit) == [253, 25, 18]


def test_an_epochs_start_does_not_hide_the_slow_samples_of_the_loop() -> None:
    known = (slow(5000, apart=True), slow(4000, first=True), slow(94), slow(66), slow(3))
    assert listed(*known) == [5000, 4000, 94, 66]


def test_slow_samples_name_their_files() -> None:
    builder = one_wait()
    sample = next(event for event in builder.events if event["name"].startswith("sample::"))
    assert capture_of(builder)["slow_samples"][0]["files"] == []
    sample["args"]["files"] = ["a.jpg", 7, "b.jpg"]
    assert capture_of(builder)["slow_samples"][0]["files"] == ["a.jpg", "b.jpg"]


def test_samples_per_second_count_what_the_training_thread_got() -> None:
    rates = capture_of(one_wait())["throughput"]
    assert rates["samples"] == 4


def test_worker_rows_stand_under_the_training_thread_with_batches_above_their_stages() -> None:
    timeline = analyse(one_wait().trace()).timeline
    assert [lane.kind for lane in timeline.lanes] == ["steps", "stages", "worker"]
    assert timeline.lanes[2].title == "DataLoader worker 0"
    assert [len(row.spans) for row in timeline.lanes[2].rows] == [1, 1, 1]


def test_workers_without_records_are_said_loudly() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 4}]).step(0, 100).wait(0, 50)
    found = capture_of(builder)
    message = next(one["message"] for one in found["diagnostics"] if one["code"] == "no_worker_records")
    assert "before the workers start" in message.replace("\n", " ")
    assert found["workers"] == []


@pytest.mark.parametrize("column", ["drawn_us", "finished_us", "consumed_us"])
def test_missing_times_are_survived(column: str) -> None:
    builder = one_wait()
    builder.batches[column] = [None]
    found = capture_of(builder)
    assert column not in found["batches"][0]
    assert sum(found["loader"]["wait_by_stage_us"].values()) in (0, 50)


def test_dropped_spans_and_clocks_that_disagree_are_counted() -> None:
    builder = one_wait()
    builder.workers[0]["dropped_spans"] = 7
    builder.batches["arrived_us"] = [54]
    found = {one["code"]: one["count"] for one in capture_of(builder)["diagnostics"]}
    assert (found["dropped_spans"], found["clock_violation"]) == (7, 1)


def test_columns_of_different_length_are_said_and_survived() -> None:
    builder = one_wait()
    builder.batches["epoch"] = []
    assert "bad_batches" in {one["code"] for one in capture_of(builder)["diagnostics"]}


def test_a_wait_that_received_batches_of_two_workers_is_given_away_once() -> None:
    builder = TraceBuilder().annotated(loaders=[{"batch_size": 2, "num_workers": 2}]).step(0, 100)
    builder.wait(0, 90, "wait::DataLoader").worker(0).worker(1).kernel(92, 5)
    builder.batch(0, 0, 0, 0, 30, 40, {"sample::Pets": (1, 28)}).batch(1, 1, 0, 0, 80, 85, {"sample::Pets": (1, 78)})
    loader = as_dict(analyse(builder.trace()).capture)["loader"]
    assert sum(loader["wait_by_stage_us"].values()) == loader["wait_us"] == 90


def ending(*, iterable: bool) -> TraceBuilder:
    """Worker 0 is asked for a batch that it no longer has, at 40 us; worker 1 makes batches to the end."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1, "iterable": iterable}])
    builder.step(0, 1000).worker(0, ended=600).worker(1).batch(0, 0, 0, 0, 40, 50).batch(2, 0, 10, 40, None, None)
    for number, start in ((1, 0), (3, 200), (5, 400), (7, 700)):
        builder.batch(number, 1, start, start, start + 150, start + 160)
    return builder


def test_a_fetch_that_found_an_iterable_dataset_at_its_end_is_no_batch() -> None:
    capture = capture_of(ending(iterable=True))
    assert capture["batch_count"] == 5 and [batch["number"] for batch in capture["batches"]] == [0, 1, 3, 5, 7]
    first = capture["workers"][0]
    assert (first["busy_us"], first["starved_us"]) == (40, 0)  # nor is anything missing from then on
    whole = capture_of(ending(iterable=False))
    assert whole["batch_count"] == 6 and whole["workers"][0]["busy_us"] == 600


def test_a_batch_that_is_drawn_behind_the_window_and_never_received_is_none_of_it() -> None:
    """Of the next epoch, for which the profiler was still there."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 1000).worker(0)
    builder.batch(0, 0, 0, 0, 40, 50).batch(1, 0, 900, None, None, None).batch(2, 0, 1_200, 1_210, 1_300, None)
    assert [batch["number"] for batch in capture_of(builder)["batches"]] == [0, 1]


def test_a_batch_in_work_at_the_end_of_the_window_is_one_whatever_the_dataset() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "iterable": True}])
    builder.step(0, 1000).worker(0).batch(0, 0, 0, 0, 40, 50).batch(1, 0, 10, 100, None, None)
    assert capture_of(builder)["workers"][0]["busy_us"] == 40 + 900
