"""`annotate.watch`: what it sums up, when it calls a step unusual, and what it writes."""

from __future__ import annotations

import json
import os
import random
import threading
import weakref
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from run_helpers import Loaders
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import session, verdict
from annotate.capture.own_profiler import Profiler
from annotate.capture.standing import Standing
from annotate.capture.torch_profiler import another_is_open
from annotate.launch import on_alarm
from annotate.launch.notes import Notes
from annotate.launch.order import Order
from annotate.launch.recording import Recording
from annotate.launch.watch import watch_by_environment
from annotate.monitoring import next_calls
from annotate.recording import recording_time, switch
from annotate.trace_format import NO_WHOLE_STEP
from annotate.whole_run import current, iterating, lying_ready, machine, recorder
from annotate.whole_run.iterating import RunEpoch, RunIterator
from annotate.whole_run.machine import Machine
from annotate.whole_run.points import values_of
from annotate.whole_run.recorder import Recorder
from annotate.whole_run.run_file import RunFile
from annotate.whole_run.scalars import EventFile, crc32c
from annotate.whole_run.series import Event, Series
from annotate.whole_run.tally import Tally, bucket_of, merged, upper_edge_us
from annotate.whole_run.usual import Usual
from annotate.workers import following
from annotate.workers.batches import Batch, Iteration
from annotate.workers.transport import Facts

MS = 1_000_000


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> torch.Tensor:
        with annotate.stage("read", "table"):
            return torch.tensor([index])


@pytest.fixture(autouse=True)
def no_run_is_left() -> Iterator[None]:
    yield
    annotate.off()
    assert current.current() is None


def lines_of(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*.watch.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def running() -> Recorder:
    ours = current.current()
    assert ours is not None
    return ours


def test_two_intervals_merge_into_what_one_would_have_been() -> None:
    numbers = random.Random(0)
    tallies = Tally(), Tally(), Tally()
    for turn in range(60):
        step = numbers.randrange(1000, 10**9)
        for tally in (tallies[0] if turn < 30 else tallies[1], tallies[2]):
            tally.add_step(step, step // 3)
            tally.samples += 4
    made: list[dict[str, Any]] = [
        {"kind": "interval", "from": begin, "to": end, "loaders": [tally.facts(0)], "machine": {}}
        for tally, begin, end in zip(tallies, (0, 10, 0), (10, 20, 20), strict=True)
    ]
    first, second, both = made
    found = merged(first, second)
    assert (found["from"], found["to"]) == (0, 20)
    for name, value in both["loaders"][0].items():
        assert found["loaders"][0][name] == pytest.approx(value, abs=0.2)


def steady(usual: Usual, steps: int, value: int = 20 * MS) -> list[str | None]:
    return [usual.add(value + turn % 5 * 100_000) for turn in range(steps)]


def test_a_steady_loop_is_usual() -> None:
    assert set(steady(Usual(), 1000)) == {None}


def test_one_very_long_step_is_a_stall_and_changes_nothing_else() -> None:
    usual = Usual()
    steady(usual, 100)
    assert usual.add(25_000 * MS) == "stall"
    assert set(steady(usual, 200)) == {None}


@pytest.mark.parametrize("together", [False, True])
def test_a_stall_is_seen_from_the_third_round_on(together: bool) -> None:
    for before, change in ((58, None), (60, "stall"), (62, "stall"), (90, "stall")):
        usual = Usual()
        steady(usual, 50)
        if together:
            usual.add_calm([20 * MS] * (before - 50))
        else:
            steady(usual, before - 50)
        assert usual.add(1200 * MS) == change, before


@pytest.mark.parametrize("workers", [8, 64])
def test_the_rhythm_of_workers_is_no_stall_and_a_real_one_is_seen_in_it(workers: int) -> None:
    """Batches of all workers come together: one step in so many waits for them."""
    usual = Usual(workers)
    rhythm = [800 * MS if turn % workers == 0 else 10 * MS for turn in range(20 * workers)]
    assert {usual.add(value, 10.0 * MS) for value in rhythm} == {None}
    assert usual.add(25_000 * MS, 10.0 * MS) == "stall"
    assert {usual.add(value, 10.0 * MS) for value in rhythm} == {None}


def test_long_steps_of_one_round_are_one_stall_and_those_of_a_later_round_another() -> None:
    usual = Usual()
    steady(usual, 100)
    assert [usual.add(25_000 * MS) for _ in range(5)] == ["stall", None, None, None, None]
    steady(usual, 60)
    assert usual.add(25_000 * MS) == "stall"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("distance", [1, 3, 8, 20, 60])
@pytest.mark.parametrize("second", [300, 1000, 5000])
def test_a_second_stall_is_told_where_the_loop_was_usual_again_or_it_is_much_longer(
    workers: int, distance: int, second: int
) -> None:
    usual = Usual(workers)
    steady(usual, 150)
    assert usual.add(1000 * MS) == "stall"
    assert set(steady(usual, distance - 1)) <= {None}
    assert usual.add(second * MS) == (None if distance == 1 and second < 1500 else "stall")


@pytest.mark.parametrize("apart", [5, 8, 15])
def test_a_loop_that_is_full_of_stalls_for_a_while_has_few_events(apart: int) -> None:
    usual = Usual()
    steady(usual, 400)
    changes = [usual.add((600 if step % apart == 0 else 20) * MS) for step in range(1000)]
    assert changes.count("stall") == 3
    assert {usual.add(20 * MS) for _ in range(1000)} == {None}


def test_calm_steps_that_are_told_together_lie_between_two_stalls_as_well() -> None:
    usual = Usual()
    steady(usual, 100)
    assert usual.add(1000 * MS) == "stall"
    usual.add_calm([20 * MS] * 4)
    assert usual.add(1000 * MS) == "stall"


def test_slow_begins_when_most_steps_are_and_ends_when_few_are() -> None:
    usual = Usual()
    steady(usual, 100)
    changes = steady(usual, 60, 60 * MS) + steady(usual, 60)
    assert [change for change in changes if change] == ["slow", "usual"]
    assert usual.range is not None and usual.range.usual < 21 * MS, "what was slow was not learnt"


def test_a_stall_in_a_slow_time_stands_out_of_that_as_well() -> None:
    usual = Usual()
    steady(usual, 100)
    steady(usual, 40, 60 * MS)
    assert usual.is_slow
    assert usual.add(25_000 * MS) == "stall"
    usual = Usual()
    steady(usual, 100)
    steady(usual, 40, 400 * MS)
    assert usual.add(700 * MS) is None, "slow as it is there"


@pytest.mark.parametrize("workers", [0, 2, 16])
def test_batches_that_come_in_turns_hide_no_slow_time(workers: int) -> None:
    """One step in so many waits for all DataLoader workers, and is all that slow data makes longer."""
    usual, turn = Usual(workers), max(2, workers)
    steady(usual, 50 * turn)
    assert usual.add(25_000 * MS) == "stall", "a stall before changes nothing"
    steady(usual, 50 * turn - 1)
    slow = [usual.add((20 + 40 * turn) * MS if step % turn == 0 else 20 * MS) for step in range(20 * turn)]
    assert [change for change in slow if change not in (None, "stall")] == ["slow"]
    assert usual.slow.mean == pytest.approx(60 * MS, rel=0.01)
    assert [change for change in steady(usual, 20 * turn) if change] == ["usual"]


def test_stalls_here_and_there_are_no_slow_time() -> None:
    usual, numbers = Usual(8), random.Random(2)
    steady(usual, 400)
    changes = {usual.add(400 * MS if numbers.random() < 0.02 else 20 * MS) for _ in range(20_000)}
    assert changes <= {"stall", None}


def test_slow_for_very_long_is_what_is_usual_then() -> None:
    usual = Usual()
    steady(usual, 100)
    assert [change for change in steady(usual, 1000, 60 * MS) if change] == ["slow", "usual"]
    assert usual.range is not None and usual.range.usual > 59 * MS


@pytest.mark.parametrize("workers", [2, 3, 8, 32])
def test_a_slow_time_is_seen_though_the_rhythm_of_several_workers_is_calm(workers: int) -> None:
    def sawtooth(turns: int, peak: int) -> list[int]:
        return [peak if step % workers == 0 else MS for step in range(turns * workers)]

    usual = Usual(workers)
    before, slow, after = sawtooth(60, 15 * workers * MS), sawtooth(12, 30 * workers * MS), sawtooth(12, 15 * MS)
    assert {usual.add(value) for value in before} == {None}
    assert usual.calm_until >= 15 * workers * MS, "the rhythm itself is calm"
    assert [change for change in map(usual.add, slow) if change] == ["slow"]
    assert usual.slow.mean == pytest.approx(30 * MS + (workers - 1) / workers * MS)
    assert "usual" in [usual.add(value) for value in after]


def test_a_slow_time_of_steps_that_are_calm_each_by_itself_is_seen() -> None:
    usual = Usual(2)
    for value in [40 * MS, 0] * 60:
        usual.add(value)
    usual.add_calm([39 * MS] * 14)
    assert usual.calm_until == -1
    assert usual.add(39 * MS) is None and usual.add(39 * MS) == "slow"


def test_an_odd_start_is_usual_for_no_longer_than_twice_its_steps() -> None:
    usual = Usual()
    steady(usual, 50, 5 * MS)
    changes = steady(usual, 130)
    assert changes.index("slow") < 20 and changes.index("usual") == changes.index("slow") + 100
    steady(usual, 50)
    assert usual.range is not None and usual.range.usual >= 20 * MS and usual.range.steps == 60


def test_calm_steps_told_together_leave_the_range_as_each_by_itself() -> None:
    numbers = random.Random(1)
    values = [20 * MS + numbers.randrange(MS) for _ in range(600)]
    each, together = Usual(), Usual()
    for value in values:
        each.add(value)
    for value in values[:50]:
        together.add(value)
    assert together.calm_until >= max(values), "none of them is unusual"
    for first in range(50, 600, 25):
        together.add_calm(values[first : first + 25])
    assert each.range == together.range


def test_steps_are_calm_only_while_none_of_the_latest_was_unusual() -> None:
    usual = Usual()
    steady(usual, 100)
    assert usual.calm_until > 0
    usual.add(60 * MS)
    assert usual.calm_until == -1
    steady(usual, 22)
    assert usual.calm_until > 0, "ten turns later"


@pytest.mark.parametrize("steps_per_interval", [7, 50, 1000])
def test_each_step_is_summed_up_and_learnt_once_however_long_intervals_are(steps_per_interval: int) -> None:
    loaders = Loaders()
    series = Series(0, loaders, 4, None)
    iterator = RunIterator(series, None, nullcontext, 0)
    taken, now = [], 0
    for turn in range(700):
        now += 20 * MS + turn % 5 * 100_000 if turn != 600 else 25_000 * MS
        iterator._came(now - 5 * MS, now)
        assert sum(map(len, series.to_learn)) <= steps_per_interval, "what was summed up is learnt soon"
        if turn % steps_per_interval == 0:
            taken.append(series.take())
    taken.append(series.take())
    assert (series.batches, sum(tally.samples for tally in taken)) == (700, 2800)
    assert sum(tally.steps for tally in taken) == 699
    assert sum(sum(tally.step_times.values()) for tally in taken) == 699
    found = [(event.change, event.what, event.batch, event.usual_steps) for event in loaders.events]
    assert found == [("stall", "step time", 599, 200)], "trained on batch 599, until batch 600 was handed out"


def taken_from(iterator: RunIterator, begin: int, batches: int = 4) -> int:
    """Hands out batches of 10 ms, from `begin` on; when the last one came."""
    for number in range(1, batches + 1):
        iterator._came(begin + 10 * number * MS - MS, begin + 10 * number * MS)
    return begin + 10 * batches * MS


def test_steps_first_batches_and_the_time_between_epochs_are_all_the_time_there_is() -> None:
    series = Series(0, Loaders(), 4, None)
    began = 0
    for pause in (0, 900, 300):
        began += pause * MS
        iterator = RunIterator(series, None, nullcontext, began)
        asked = taken_from(iterator, began) + 7 * MS
        iterator._came_none(asked, StopIteration())
        iterator._came_none(asked + MS, StopIteration())  # who asks again
        began = asked
    found = series.take()
    assert (found.between, found.between_ns, found.longest_between_ns) == (2, 1200 * MS, 900 * MS)
    assert found.other_ns == 3 * 7 * MS, "the last step of an epoch has no batch behind it"
    assert found.step_ns + found.first_wait_ns + found.other_ns + found.between_ns == began


def test_what_recording_takes_is_in_no_step_and_not_between_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    def records(ms: int) -> None:
        monkeypatch.setattr(recording_time, "done_ns", recording_time.done_ns + ms * MS)
        switch.disturb()

    series = Series(0, Loaders(), 4, None)
    first = RunIterator(series, None, nullcontext, 0)
    end = taken_from(first, 0)
    records(300)  # a window that ends in the middle of the epoch
    first._came(end + 305 * MS, end + 310 * MS)
    records(40)  # and one in its last step
    first._came_none(end + 360 * MS, StopIteration())
    records(500)  # and one between epochs
    taken_from(RunIterator(series, None, nullcontext, end + 960 * MS), end + 960 * MS)
    found = series.take()
    assert (found.unused_steps, found.other_ns) == (1, (10 + 10) * MS)
    assert (found.profiled_samples, found.profiled_ns) == (4, found.other_ns), "all that is not timed lay in windows"
    assert (found.between, found.between_ns, found.longest_between_ns) == (1, 100 * MS, 100 * MS)


def test_what_goes_on_for_a_window_is_counted_once_and_the_programs_own_is_not() -> None:
    before = recording_time.total_ns()
    with recording_time.taken():
        with recording_time.taken():
            sleep(0.02)
        assert recording_time.total_ns() >= before + 20 * MS, "also while it goes on"
        with recording_time.theirs():
            sleep(0.2)
        sleep(0.02)
    assert before + 40 * MS <= recording_time.done_ns < before + 200 * MS
    with pytest.raises(KeyError), recording_time.taken():
        raise KeyError
    assert recording_time.total_ns() == recording_time.done_ns


def test_an_iterator_that_its_loop_has_left_is_over_and_one_that_goes_on_is_not() -> None:
    loaders = Loaders()
    train, evaluation = (Series(number, loaders, 4, None) for number in range(2))
    batches = iter(DataLoader(Numbers(), batch_size=4))
    left = RunIterator(train, None, nullcontext, 0)
    left.iterator = weakref.ref(batches)
    end = taken_from(left, 0)
    inside = RunIterator(evaluation, None, nullcontext, end + 5 * MS)
    inside._came_none(taken_from(inside, end + 5 * MS), StopIteration())
    assert not evaluation.take().between, "an evaluation in the middle of an epoch"
    end = taken_from(left, end + 45 * MS)
    del batches
    taken_from(RunIterator(evaluation, None, nullcontext, end + 20 * MS), end + 20 * MS)
    assert evaluation.take().between_ns == 20 * MS


def test_the_end_of_an_epoch_keeps_no_dataset() -> None:
    """A program that makes it anew has room for one."""
    numbers = Numbers()
    iterator = RunIterator(Series(0, Loaders(), 4, None), None, partial(nullcontext, numbers), 0)
    iterator._came_none(taken_from(iterator, 0), StopIteration())
    alive, numbers = weakref.ref(numbers), Numbers()
    assert alive() is None


def test_slow_data_is_one_event_of_the_data_wait_whatever_was_before() -> None:
    """Two DataLoader workers; a stall, and later slow data, which make every second step six times as long."""
    loaders = Loaders()
    iterator = RunIterator(Series(0, loaders, 8, None, workers=2), None, nullcontext, 0)
    now = 0
    for turn in range(900):
        wait = 80 * MS if 600 <= turn < 700 and turn % 2 else 3_000 * MS if turn == 500 else MS
        now += 14 * MS + wait
        iterator._came(now - wait, now)
    assert [(event.change, event.what) for event in loaders.events] == [
        ("stall", "data wait"),
        ("slow", "data wait"),
        ("usual", "data wait"),
    ]
    _, slow, usual = loaders.events
    assert 600 < slow.batch < 620 and slow.took == pytest.approx(40.5 * MS) and slow.usual == pytest.approx(MS)
    assert usual.mean == pytest.approx(39 * MS, rel=0.1)


def test_a_slow_step_time_that_is_over_says_what_its_own_data_wait_was() -> None:
    """Its rise is too small an event of its own; the intervals have other steps as well."""
    loaders = Loaders()
    series = Series(0, loaders, 8, None)
    for batch in range(500):
        is_slow = 300 <= batch < 360
        wait = (7 if is_slow else 4) * MS
        series.stepped(0, batch, (26 if is_slow else 12) * MS + wait, wait)
    slow, usual = loaders.events
    assert (slow.change, slow.what, usual.change) == ("slow", "step time", "usual")
    assert usual.usual_wait == 4 * MS and usual.wait is not None and 6 * MS < usual.wait <= 7 * MS


def test_two_stalls_of_the_data_wait_are_two_events_of_it() -> None:
    loaders = Loaders()
    series = Series(0, loaders, 8, None)
    for batch in range(300):
        wait = {120: 600, 128: 3000}.get(batch, 8)
        series.stepped(0, batch, (12 + wait) * MS, wait * MS)
    assert [(event.what, event.batch, event.took) for event in loaders.events] == [
        ("data wait", 120, 600 * MS),
        ("data wait", 128, 3000 * MS),
    ]


def test_a_slow_step_that_was_said_ends_also_while_the_data_wait_is_slow() -> None:
    loaders = Loaders()
    series = Series(0, loaders, 8, None)
    for step, wait, count in ((20, 1, 200), (60, 1, 40), (60, 41, 40), (20, 15, 40), (20, 1, 40)):
        for _ in range(count):
            series.stepped(0, 0, step * MS, wait * MS)
    said = [(event.change, event.what) for event in loaders.events]
    assert said[:2] == [("slow", "step time"), ("slow", "data wait")]
    assert sorted(said[2:]) == [("usual", "data wait"), ("usual", "step time")]


def test_a_time_is_in_the_bucket_whose_upper_edge_is_next() -> None:
    for time in (0, 1, 1000, 1001, 1189, 1190, 10**6, 25 * 10**9):
        bucket = bucket_of(time)
        assert time <= upper_edge_us(bucket) * 1000
        assert not bucket or time > upper_edge_us(bucket - 1) * 1000


def test_the_file_of_a_long_run_stays_small_and_loses_no_step(tmp_path: Path) -> None:
    file = RunFile(tmp_path / "run.watch.jsonl", limit=40_000)
    file.add({"kind": "run", "t": 0, "version": 1})
    tally = Tally()
    tally.add_step(20 * MS, 5 * MS)
    for number in range(2000):
        if number % 500 == 7:
            file.add({"kind": "event", "number": number, "t": number})
        file.add({"kind": "interval", "from": number, "to": number + 1, "loaders": [tally.facts(0)], "machine": {}})
    file.close()
    assert file.path.stat().st_size <= 41_000
    lines = [json.loads(line) for line in file.path.read_text().splitlines()]
    intervals = [line for line in lines if line["kind"] == "interval"]
    assert sum(line["loaders"][0]["steps"] for line in intervals) == 2000
    assert sum(line["to"] - line["from"] for line in intervals) == 2000
    assert sum(line["kind"] == "event" for line in lines) == 4
    assert lines[0]["kind"] == "run"


def test_tensorboard_reads_the_scalars_and_histograms(tmp_path: Path) -> None:
    assert crc32c(b"123456789") == 0xE3069283, "the check value of RFC 3720"
    tally = Tally()
    for step in (10, 20, 30):
        tally.add_step(step * MS, 5 * MS)
    file = EventFile(tmp_path)
    file.add(1000.5, 70_000, values_of(tally, 10.0))
    file.close()
    (path,) = tmp_path.iterdir()
    _, event = EventFileLoader(str(path)).Load()
    assert (event.wall_time, event.step) == (1000.5, 70_000)
    values = {value.tag: value for value in event.summary.value}
    assert values["data_pipeline/data_wait_share"].tensor.float_val[0] == pytest.approx(0.25)
    assert values["data_pipeline/step_time_ms"].tensor.float_val[0] == pytest.approx(20)
    assert "data_pipeline/step_times_ms" in values


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_as_without_it_and_the_file_tells_of_them(tmp_path: Path, workers: int) -> None:
    def batches(loader: Any) -> list[list[int]]:
        torch.manual_seed(3)
        return [batch.flatten().tolist() for _ in range(2) for batch in loader]

    loader = DataLoader(Numbers(), batch_size=4, num_workers=workers, shuffle=True)
    plain = batches(loader)
    state = torch.get_rng_state()
    assert annotate.watch(loader, logdir=tmp_path) is loader
    assert batches(loader) == plain
    assert torch.equal(torch.get_rng_state(), state)
    annotate.off()
    lines = lines_of(tmp_path)
    assert [line["kind"] for line in lines] == ["run", "loader", "interval", "end"]
    (numbers,) = lines[2]["loaders"]
    assert (numbers["steps"], numbers["samples"], numbers["epochs"]) == (10, 48, 2)
    assert numbers["wait_us"] <= numbers["step_us"]
    assert (numbers["between"], numbers["made"]) == (1, 1)
    assert 0 < numbers["between_us"] == numbers["longest_between_us"]
    seconds = lines[2]["to"] - lines[2]["from"]
    assert sum(numbers[name] for name in ("step_us", "first_wait_us", "other_us", "between_us")) < 1e6 * seconds + 2e3
    assert "read::table" in numbers["stage_us"]
    assert lines[2]["machine"]["rss_bytes"] > 1e7
    assert list(tmp_path.glob("data_pipeline/events.out.tfevents.*"))
    assert not following._followers and not list(next_calls._calls)


def test_a_loader_that_is_made_for_each_epoch_is_counted_each_time(tmp_path: Path) -> None:
    annotate.watch(logdir=tmp_path)
    for _ in range(3):
        assert len(list(DataLoader(Numbers(), batch_size=4))) == 6
    annotate.off()
    (numbers,) = (each for line in lines_of(tmp_path) if line["kind"] == "interval" for each in line["loaders"])
    assert (numbers["made"], numbers["epochs"], numbers["between"]) == (3, 3, 2)


def test_the_terminal_gets_a_line_of_each_interval_where_that_is_asked_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    for prints in (False, True):
        annotate.watch(loader, logdir=tmp_path / str(prints), prints=prints)
        assert sum(len(batch) for batch in loader) == 24
        annotate.off()
        lines = capfd.readouterr().err.splitlines()
        assert len(lines) == prints, "an interval ends with the run"
    assert lines[0].startswith("annotate.watch: DataLoader 0: 5 steps, step ") and "ms per batch" in lines[0]
    assert " samples/s, " in lines[0]


def test_a_line_says_that_its_rate_has_other_loaders_time(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    annotate.watch(logdir=tmp_path, prints=True)
    train, val = DataLoader(Numbers(), batch_size=4), DataLoader(Numbers(), batch_size=2)
    for _ in range(2):
        assert (len(list(train)), len(list(val))) == (6, 12)
    annotate.off()
    lines = [line for line in capfd.readouterr().err.splitlines() if "samples/s" in line]
    assert len(lines) == 2
    assert all(" s, in which other DataLoaders gave batches too," in line for line in lines)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not report PSS")
def test_pss_is_read_once_a_minute_and_a_process_that_is_gone_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PSS_SHARE", 1e9)
    watched = Machine(lambda: [2**22 + 1])
    readings = [watched.memory(second * 10**9).get("pss_bytes") for second in range(0, 70, 10)]
    assert [reading is not None for reading in readings] == [True, *[False] * 5, True]
    assert readings[0] is not None and readings[0] > 1e6


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not report PSS")
def test_pss_that_costs_much_is_read_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_PSS_SHARE", 1e-12)
    watched = Machine(list)
    assert [bool(watched.memory(second * 10**9).get("pss_bytes")) for second in (0, 3600)] == [True, False]


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    loader = DataLoader(Numbers(), batch_size=4)
    with pytest.warns(RuntimeWarning, match=r"annotate.watch does not record: cannot write") as warned:
        annotate.watch(loader, logdir=tmp_path / "file" / "run")
    assert len(warned) == 1
    assert len(list(loader)) == 6


def test_a_disk_that_is_full_later_is_one_warning_at_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    annotate.watch(loader, logdir=tmp_path)
    recorder, batches = running(), iter(loader)
    next(batches)

    def full(self: RunFile, facts: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFile, "add", full)
    recorder.note({"kind": "event"})
    recorder._thread.join(60)
    with pytest.warns(RuntimeWarning, match="stopped recording the run: cannot write") as warned:
        assert len(list(batches)) == 5
        assert len(list(loader)) == 6
    assert len(warned) == 1 and warned[0].filename == __file__


def alarm(recorder: Recorder, what: str = "data wait", length: int | None = None, change: str = "slow") -> None:
    recorder.loaders.happened(Event(change, what, 0, 0, 9, 60 * MS, 20.0 * MS, 200, length))


def test_an_event_is_followed_by_a_window_that_the_file_names(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=1)
    annotate.watch(loader, logdir=tmp_path)
    alarm(running())
    for _ in loader:
        pass
    alarm(running())
    annotate.off()
    (trace,) = tmp_path.glob("*.pt.trace.json.gz")
    first, second = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert (first["event"], first["capture"]) == (1, trace.name)
    assert second["event"] == 2 and "less than 300 s ago" in second["missed"]
    assert sum(line.get("recording_us", 0) for line in lines_of(tmp_path)) > 1000


def test_a_slow_time_is_recorded_whatever_stalls_were_recorded_before(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=1)
    annotate.watch(loader, logdir=tmp_path)
    for change in ("stall", "stall", "slow", "slow"):
        alarm(running(), change=change)
        list(loader)
    annotate.off()
    said = {line["event"]: line for line in lines_of(tmp_path) if line["kind"] == "capture"}
    assert "capture" in said[1] and "capture" in said[3] and said[3]["from"] > said[1]["from"]
    assert "less than 300 s ago" in said[2]["missed"] and "less than 300 s ago" in said[4]["missed"]


def test_the_last_window_is_kept_for_a_slow_time(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=1)
    annotate.watch(loader, logdir=tmp_path)
    running().windows = on_alarm.AlarmWindows(running(), most=2, between_s=0)
    for change in ("stall", "stall", "slow"):
        alarm(running(), change=change)
        list(loader)
    annotate.off()
    said = {line["event"]: line for line in lines_of(tmp_path) if line["kind"] == "capture"}
    assert "kept for a slow time" in said[2]["missed"]
    assert "capture" in said[1] and "capture" in said[3]


@pytest.mark.parametrize(("batch", "is_kept"), ((15, True), (20, False)))
def test_a_window_that_opens_as_the_loop_ends_is_not_kept(tmp_path: Path, batch: int, is_kept: bool) -> None:
    """It would show the checkpoint after the last epoch. The next one may open at once."""
    loader = DataLoader(Numbers(), batch_size=1)
    annotate.watch(loader, logdir=tmp_path)
    for number, _ in enumerate(loader):
        if number == batch:
            alarm(running(), change="stall")
    windows = running().windows
    assert isinstance(windows, on_alarm.AlarmWindows)
    recording = windows._recording
    assert recording is not None and recording.notes.state == "recording"
    annotate.off()
    (said,) = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert said.get("missed") == (None if is_kept else "the run ended before the window had a whole step")
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == is_kept
    assert not session.is_on() and not another_is_open()


def test_the_note_of_a_window_without_a_whole_step_is_the_one_that_the_report_looks_for() -> None:
    recording = Recording(Order(logdir=Path(), active=10), Standing(), Notes(None))
    (note,) = recording._notes_of_window([1])
    assert note.startswith(NO_WHOLE_STEP)
    assert not recording._notes_of_window([1, 2])[0].startswith(NO_WHOLE_STEP)


def test_no_window_is_recorded_inside_of_a_capture(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=4))
    with annotate.profile(tmp_path, wait=50, watch=True):
        alarm(running())
        assert len(list(loader)) == 6
    annotate.off()
    (said,) = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert said["missed"] == "the loop was inside of an annotate.profile, which records its own windows"


def test_no_window_is_recorded_beside_the_programs_profiler(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    annotate.watch(loader, logdir=tmp_path)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        alarm(running())
        assert len(list(loader)) == 6
    annotate.off()
    (said,) = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert said["missed"] == "the program's own profiler was at work"
    assert not list(tmp_path.glob("*.pt.trace.json.gz"))


def test_a_window_that_waits_gives_way_to_the_programs_profiler(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    annotate.watch(loader, logdir=tmp_path)
    alarm(running())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        assert len(list(loader)) == 6
    assert profiler.events() is not None
    annotate.off()
    (said,) = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert said["missed"] == "the program's own profiler was at work"


def test_a_window_that_was_given_up_as_it_warmed_up_is_no_open_profiler() -> None:
    kept = Profiler(cast("Any", None), activities=[torch.profiler.ProfilerActivity.CPU])
    kept.prepare_trace()
    assert another_is_open()
    kept.abandon()
    assert not another_is_open()


def test_a_slow_beginning_is_recorded_with_the_next_epochs(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=1)
    annotate.watch(loader, logdir=tmp_path)
    list(loader)
    windows = running().windows
    assert isinstance(windows, on_alarm.AlarmWindows)
    alarm(running(), "first batch", 24)
    assert windows._recording is not None
    assert 0 < windows._recording._order.wait < 24  # type: ignore[operator]


def test_a_capture_can_ask_for_the_run_as_well(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2, watch=True) as prof:
        for _ in prof.steps(loader):
            sleep(0.02)
    annotate.off()
    numbers = sums_of(tmp_path)
    assert numbers["samples"] == 24 and numbers["epochs"] == 1
    assert numbers["first_waits"] == 1, "the profiler waited"
    known = sum(numbers.get(name, 0) for name in ("step_us", "first_wait_us", "other_us"))
    assert known >= 12 * 20_000, "the time of the recorded steps is known as well: the loop slept in each of them"
    assert list(tmp_path.glob("*.pt.trace.json.gz"))


def windows_in(folder: Path) -> list[str]:
    """Files of windows that no event began, as the run's file names them with when they were recorded."""
    said = [line for line in lines_of(folder) if line["kind"] == "capture"]
    assert all("event" not in line and line["from"] < line["t"] for line in said)
    return [line["capture"] for line in said]


def test_the_file_names_each_window_of_a_capture_and_when_it_was_recorded(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=1))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2, repeat=2, watch=True) as prof:
        for _ in prof.steps(loader):
            pass
    annotate.off()
    assert windows_in(tmp_path) == [Path(file).name for file in prof.trace_files] and len(prof.trace_files) == 2
    first, second = (line for line in lines_of(tmp_path) if line["kind"] == "capture")
    assert first["t"] <= second["from"], "the warm-up of the second window begins after the first one was written"


@pytest.mark.parametrize("is_handler", [True, False])
def test_the_file_names_windows_of_the_programs_own_profiler(tmp_path: Path, is_handler: bool) -> None:
    loader = DataLoader(Numbers(), batch_size=4)
    annotate.watch(loader, logdir=tmp_path)
    handler = annotate.trace_handler(tmp_path)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, on_trace_ready=handler if is_handler else None) as prof:
        assert len(list(loader)) == 6
    if not is_handler:
        prof.export_chrome_trace(str(tmp_path / "mine.pt.trace.json"))
    annotate.off()
    assert windows_in(tmp_path) == ([Path(file).name for file in handler.trace_files] or ["mine.pt.trace.json"])


def test_what_the_end_of_a_capture_takes_is_told_apart_from_the_programs_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(path: str) -> None:
        sleep(0.5)

    monkeypatch.setattr(verdict, "ask", slow)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    handler = lambda prof: sleep(0.3)  # noqa: E731
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2, watch=True, on_trace_ready=handler) as prof:
        for _ in prof.steps(loader):
            pass
    annotate.off()
    (interval,) = (line for line in lines_of(tmp_path) if line["kind"] == "interval")
    assert interval["recording_us"] >= 500_000
    (numbers,) = interval["loaders"]
    known = sum(numbers.get(name, 0) for name in ("step_us", "first_wait_us", "other_us")) + interval["recording_us"]
    whole = 1e6 * (interval["to"] - interval["from"])
    assert numbers["other_us"] >= 300_000, "the program's own handler is its own"
    assert whole - 200_000 < known <= whole + 2000


def sums_of(folder: Path) -> dict[str, Any]:
    """Of the only loader in the only interval."""
    (interval,) = (line for line in lines_of(folder) if line["kind"] == "interval")
    (numbers,) = interval["loaders"]
    assert isinstance(numbers, dict)
    return numbers


@pytest.mark.parametrize("is_stepped_by_us", [True, False])
@pytest.mark.parametrize("workers", [0, 1])
def test_only_the_steps_that_a_profiler_is_at_work_in_are_left_out(
    tmp_path: Path, workers: int, is_stepped_by_us: bool
) -> None:
    """Of 3 epochs of 12 batches: warm-up and window of each of two cycles, and the step in which each ends."""
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, num_workers=workers))
    with annotate.profile(tmp_path, wait=2, warmup=1, active=2, repeat=2, watch=True) as prof:
        for _ in range(3):
            for _ in prof.steps(loader) if is_stepped_by_us else loader:
                if not is_stepped_by_us:
                    prof.step()
    annotate.off()
    numbers = sums_of(tmp_path)
    assert (numbers["epochs"], numbers["first_waits"]) == (3, 3)
    assert (numbers["unused_steps"], numbers["steps"]) == (8, 25)
    assert (numbers["profiled_samples"], numbers["samples"]) == (16, 72)
    assert 0 < numbers["profiled_us"] <= numbers["other_us"], "which has the last step of each epoch as well"


def test_the_step_in_which_a_capture_ends_is_left_out(tmp_path: Path) -> None:
    """Its verdict may take a second, and its hooks come and go within a step."""
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    annotate.watch(loader, logdir=tmp_path)
    for turn, _ in enumerate(loader):
        if turn == 5:
            with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
                prof.step()
                prof.step()
    annotate.off()
    assert (sums_of(tmp_path)["unused_steps"], sums_of(tmp_path)["steps"]) == (1, 10)


def test_a_profiler_within_one_step_makes_that_one_no_usual_step(tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=2)
    annotate.watch(loader, logdir=tmp_path)
    for turn, _ in enumerate(loader):
        if turn == 5:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
                pass
    annotate.off()
    assert (sums_of(tmp_path)["unused_steps"], sums_of(tmp_path)["steps"]) == (1, 10)


def test_another_profiler_in_a_capture_between_its_windows_makes_no_usual_steps(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    other = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    with annotate.profile(tmp_path, wait=100, watch=True) as prof:
        for turn, _ in enumerate(prof.steps(loader)):
            if turn == 3:
                other.start()
            if turn == 5:
                other.stop()
    annotate.off()
    assert (sums_of(tmp_path)["unused_steps"], sums_of(tmp_path)["steps"]) == (3, 8)


def test_a_capture_without_workers_has_its_stages_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the capture's own hooks: those of a measured batch on top of them would count each stage twice."""
    monkeypatch.setattr(iterating, "_BETWEEN_NS", 0)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    with annotate.profile(tmp_path, wait=5, warmup=1, active=2, watch=True) as prof:
        for _ in prof.steps(loader):
            pass
    annotate.off()
    numbers = sums_of(tmp_path)
    assert numbers["measured"] == 12 - 3 and numbers["measured_samples"] == 2 * 9
    assert set(numbers["stage_us"]) == {"sample::Numbers", "read::table", "collate::default_collate"}


def test_a_loader_that_the_capture_does_not_follow_is_not_measured_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iterating, "_BETWEEN_NS", 0)
    with annotate.profile(tmp_path, wait=50, watch=True):
        list(DataLoader(Numbers(), batch_size=2))
    annotate.off()
    numbers = sums_of(tmp_path)
    assert numbers["steps"] == 11 and "measured" not in numbers


def test_batches_that_the_headspace_has_copied_make_no_usual_steps(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=1))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1, headspace=8, watch=True) as prof:
        served = len(list(prof.steps(loader))) - 24
    annotate.off()
    numbers = sums_of(tmp_path)
    assert served == 8
    assert numbers["unused_steps"] == 1 + 2 + 8, "first batch; window; copying, in the last of these all are served"
    assert numbers["steps"] == 24 - numbers["unused_steps"]


@pytest.fixture
def threads_at_forks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Names of our threads at each fork; a thread has all the time that it needs to leave."""
    monkeypatch.setattr(recorder, "_AWAY_S", 60)
    found: list[list[str]] = []
    fork = os.fork

    def noting() -> int:
        found.append([thread.name for thread in threading.enumerate() if thread.name.startswith("annotate")])
        return fork()

    monkeypatch.setattr(os, "fork", noting)
    return found


def test_no_thread_of_ours_is_there_when_a_loader_forks(tmp_path: Path, threads_at_forks: list[list[str]]) -> None:
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    list(loader), list(loader)
    assert threads_at_forks == [[]] * 4
    assert running()._thread.is_alive()
    annotate.off()
    assert [line["kind"] for line in lines_of(tmp_path)] == ["run", "loader", "interval", "end"]
    assert lines_of(tmp_path)[2]["loaders"][0]["epochs"] == 2


def test_a_thread_that_hangs_is_not_waited_for_and_another_goes_on_for_it(
    tmp_path: Path, threads_at_forks: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs, answers, add = threading.Event(), threading.Event(), RunFile.add

    def hanging(self: RunFile, facts: Any) -> None:
        if facts["kind"] == "loader":
            hangs.set()
            answers.wait()
        add(self, facts)

    monkeypatch.setattr(RunFile, "add", hanging)
    loader = DataLoader(Numbers(), batch_size=4, num_workers=1, multiprocessing_context="fork")
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    list(loader)
    running().note({"kind": "own"})
    assert hangs.wait(20)
    monkeypatch.setattr(recorder, "_AWAY_S", 0.01)
    list(loader)
    assert threads_at_forks == [[], ["annotate: whole run"]]
    answers.set()
    annotate.off()
    assert [line["kind"] for line in lines_of(tmp_path)] == ["run", "loader", "own", "interval", "end"]


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    annotate.watch(DataLoader(Numbers()), logdir=tmp_path)
    child = os.fork()
    if not child:
        os._exit(current.current() is not None)
    assert os.waitpid(child, 0)[1] == 0


def test_the_environment_asks_for_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATE_WATCH", str(tmp_path))
    watch_by_environment()
    assert running().logdir == tmp_path


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({}, "needs a folder"),
        ({"logdir": "x", "interval_s": 0}, "interval_s must be"),
        ({"logdir": "x", "captures": -1}, "captures must be"),
    ],
)
def test_wrong_arguments_are_refused(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        annotate.watch(DataLoader(Numbers()), **keywords)
    with pytest.raises(TypeError, match=r"Did you mean annotate.watch\(logdir='runs'\)"):
        annotate.watch("runs")


class Counted(Numbers):
    def __len__(self) -> int:
        return 118


def test_most_batches_of_workers_travel_as_without_us_and_all_are_counted(tmp_path: Path) -> None:
    loader = DataLoader(Counted(), batch_size=4, num_workers=2, persistent_workers=True)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    assert [len(batch) for _ in range(2) for batch in loader] == [*[4] * 29, 2] * 2
    annotate.off()
    (numbers,) = lines_of(tmp_path)[2]["loaders"]
    assert (numbers["steps"], numbers["samples"], numbers["epochs"]) == (58, 236, 2)
    assert (numbers["measured"], numbers["asked"]) == (3, 60), "one in twenty has its stages measured"
    assert 1 <= numbers["built"] <= 3, "but for the first of each worker"
    assert numbers["build_us"] > 0
    assert numbers["other_samples"] + numbers["measured_samples"] > 100, "but for the last of each worker"


@pytest.mark.parametrize(("over", "starved"), [(130, 30 + 50), (80, 50), (400, 350), (0, 50)])
def test_between_two_epochs_no_worker_is_starved(over: int, starved: int) -> None:
    """The batch before was finished at 100, the epoch began at 400, and the worker with its batch at 450."""
    series = Series(0, Loaders(), 4, None)
    facts = Facts(1, 0, 0, 0, 7, 5, started=450 * MS, finished=470 * MS, before=100 * MS)
    series.built(facts, over * MS, 400 * MS)
    found = series.take()
    assert (found.built, found.build_ns, found.starved_ns) == (1, 20 * MS, starved * MS)
    series.built(facts._replace(before=420 * MS), over * MS, 400 * MS)
    assert series.take().starved_ns == 30 * MS, "within the epoch"


class Pausing(Dataset[int]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        sleep(0.02)
        return index


def test_a_pause_between_epochs_leaves_persistent_workers_as_busy_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iterating, "_EVERY", 1)
    loader = DataLoader(Pausing(), batch_size=1, num_workers=2, persistent_workers=True)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    for _ in range(3):
        list(loader)
        sleep(0.5)
    annotate.off()
    (numbers,) = lines_of(tmp_path)[2]["loaders"]
    assert numbers["built"] == 22, "all but the first ones of the workers' lives"
    assert numbers["starved_us"] < 1e6, "two workers were idle for a second in two pauses"
    assert numbers["build_us2"] >= numbers["build_us"] ** 2 / 22


@pytest.mark.parametrize("is_known", [True, False])
def test_how_many_batches_lie_ready_is_counted_at_each_next_where_torch_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    if not is_known:
        monkeypatch.setattr(iterating, "counter_of", lambda iterator, iteration: None)
    loader = DataLoader(Counted(), batch_size=2, num_workers=2, prefetch_factor=3)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600)
    batches = iter(loader)
    for _ in range(10):
        sleep(0.15)  # all six are done by then; but when the first is asked for, workers may still start
        next(batches)
    annotate.off()
    (numbers,) = lines_of(tmp_path)[2]["loaders"]
    assert numbers["asked"] == (10 if is_known else 1), "of few batches where only their own records tell"
    if is_known:
        assert 40 <= numbers["ready"] <= 60


@pytest.mark.parametrize("pins", [False, True])
def test_a_counter_adds_up_all_places_where_a_finished_batch_may_be(pins: bool) -> None:
    """Three in the workers' queue, one received before its turn, and two that are pinned; one is not done yet."""
    early_and_waiting = {5: (1, "data"), 6: (0,)}
    iterator = SimpleNamespace(
        _task_info=early_and_waiting, _tasks_outstanding=1, _data_queue=SimpleNamespace(queue=["a", "b"])
    )
    assert lying_ready._counter(10, lambda: 7, pins=pins)(iterator) == (6 if pins else 4)


def test_a_counter_that_fails_costs_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(iterating, "report_error", lambda text, error: told.append(text))
    iterator = RunIterator(Series(0, Loaders(), 4, None), None, nullcontext, 0)
    iterator._lie_ready = lambda iterator: len(iterator.missing)
    assert [iterator.next_of(object(), lambda _: 7) for _ in range(3)] == [7, 7, 7]
    assert len(told) == 1


@pytest.mark.parametrize("period", [2, 3, 4, 8, 16, 20, 60])
def test_measured_batches_follow_no_period(period: int) -> None:
    """Of workers that take turns, and of epochs."""
    epoch = RunEpoch(Series(0, Loaders(), 4, None), Iteration(0, in_order=True, iterable=False, has_workers=True))
    places = [number % period for number in range(40_000) if epoch.drawn_asleep(number, []) is not None]
    assert len(places) == 2000
    for place in range(period):
        assert places.count(place) == pytest.approx(2000 / period, rel=0.1, abs=3)


def test_batches_that_lie_ready_are_seen_by_how_often_the_loop_asked_since_they_were_finished() -> None:
    iteration = Iteration(0, in_order=True, iterable=False, has_workers=True)
    epoch = RunEpoch(Series(0, Loaders(), 4, None), iteration)
    epoch.asked.extend([10, 20, 30])
    for finished, ready in ((15, 2), (30, 1), (31, 0), (5, 3)):
        batch = Batch(0, 0, None)
        batch.finished = finished
        epoch._chosen.add(0)
        epoch.consumed(batch)
        tally = epoch._series.take()
        assert (tally.asked, tally.ready) == (1, ready)
