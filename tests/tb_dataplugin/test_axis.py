"""A whole run as points and phases, and in the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.run_markdown import run_section
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_runs_report
from tb_dataplugin.watchfile.axis import phases_of, points_of
from tb_dataplugin.watchfile.rates import Rate, rate_of
from tb_dataplugin.watchfile.reading import Run, read_part, runs_of
from tb_dataplugin.watchfile.summary import summary_of
from tests.tb_dataplugin.test_watchfile import BEGIN, RUN, event, interval, troubled, write


def run_of(*paths: Path) -> Run:
    (run,) = runs_of(map(read_part, paths))
    return run


def test_a_point_has_what_its_intervals_come_to(tmp_path: Path) -> None:
    lines = [interval(number, rss_bytes=100.0 * number) for number in range(4)]
    first, second = points_of(run_of(write(tmp_path / "a.watch.jsonl", RUN, *lines)), most=2)
    assert (first.from_s, first.to_s, second.to_s) == (0, 20, 40)
    assert (first.steps, first.step_us, first.wait_share, first.samples_per_s) == (200, 1e5, 0.25, 80)
    assert (first.epochs, first.ready, first.busy_share) == (2, 1.5, 0.75)
    assert (first.machine["rss_bytes"], second.machine["rss_bytes"]) == (50, 250)


def test_the_p95_of_a_point_is_no_longer_than_its_longest_step(tmp_path: Path) -> None:
    """It is the middle of a bucket: one step of 2.60 s had a p95 of 2.72 s."""
    (numbers,) = interval(0)["loaders"]
    one = interval(0) | {"loaders": [numbers | {"steps": 1, "longest_step_us": 2.6e6, "step_times": {"86": 1}}]}
    (point,) = points_of(run_of(write(tmp_path / "a.watch.jsonl", RUN, one)), most=1)
    assert point.p95_us == 2.6e6


def test_a_long_run_has_points_for_a_screen_and_each_is_of_one_process(tmp_path: Path) -> None:
    first = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(1000)))
    later: list[Any] = [interval(number, begin=BEGIN + 20_000) for number in range(7)]
    second = write(tmp_path / "b.watch.jsonl", {**RUN, "t": BEGIN + 20_000, "pid": 8}, *later)
    points = points_of(run_of(first, second), most=100)
    assert 92 <= len(points) <= 102
    assert sum(point.steps for point in points) == 100_700
    assert not any(point.from_s < 10_000 < point.to_s for point in points)


def test_processes_and_slow_times_are_phases(tmp_path: Path) -> None:
    slow = [event(1, "slow", 20), event(2, "usual", 45), event(3, "slow", 50)]
    first = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), *slow)
    second = write(tmp_path / "b.watch.jsonl", {**RUN, "t": BEGIN + 100, "pid": 8}, interval(0, begin=BEGIN + 100))
    run = run_of(first, second)
    summary = summary_of(run)
    assert summary is not None
    phases = [(phase.kind, phase.from_s, phase.to_s) for phase in phases_of(run, summary.happenings)]
    assert phases == [("process", 0, 60), ("slow", 20, 45), ("slow", 50, 60), ("process", 100, 110)]


def test_what_was_recorded_is_a_phase_and_has_no_rate(tmp_path: Path) -> None:
    """The profiler's start stops the loop: samples by the clock would say that training had become slow, and by timed
    steps that it had become fast, were there time between epochs."""
    stopped = interval(1)
    stopped["loaders"][0] |= {"steps": 10, "unused_steps": 10, "samples": 160, "step_us": 1e6, "first_wait_us": 0}
    recorded = {"kind": "capture", "t": BEGIN + 19, "event": 1, "capture": "c.pt.trace.json", "from": BEGIN + 12}
    lines = (interval(0), stopped, interval(2), event(1, "stall", 11), recorded, {**recorded, "event": 2})
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, *lines))
    assert [point.samples_per_s for point in points_of(run)] == [80, None, 80]
    assert [point.samples_per_s for point in points_of(run, most=1)] == [80], "of all intervals together, too"
    assert [(phase.kind, phase.from_s, phase.to_s) for phase in phases_of(run, ())] == [("recorded", 12, 19)]
    assert rate_of(run) == Rate(80, "of 20.0 s of the 30.0 s: without the intervals in which a window was recorded")


def test_the_rate_leaves_out_only_the_steps_of_a_window_where_the_file_has_them(tmp_path: Path) -> None:
    """A stranger's run of 14 s: its rate was that of the first interval."""
    recorded = {"kind": "capture", "t": BEGIN + 19, "event": 1, "capture": "c.pt.trace.json", "from": BEGIN + 16}
    window = interval(1) | {"recording_us": 1e6}
    window["loaders"][0] |= {"samples": 420, "unused_steps": 5, "profiled_samples": 20, "profiled_us": 1.5e6}
    paths = [write(tmp_path / "a.watch.jsonl", RUN, interval(0), window, recorded)]
    run = run_of(*paths)
    without = "without the time to record windows and the steps that recording slowed"
    assert rate_of(run) == Rate(1200 / 17.5, f"of 17.5 s of the 20.0 s: {without}")
    assert [point.samples_per_s for point in points_of(run)] == [80, None], "a step may begin in another interval"
    (report,) = whole_runs_report([(run, "exp1")]).runs
    assert report.samples_per_s_of == rate_of(run).of
    for text in (runs_text([run]), "\n".join(run_section(report))):
        assert f"of 17.5 s of the 20.0 s: {without}" in " ".join(text.split())
    later = BEGIN + 100
    paths.append(write(tmp_path / "b.watch.jsonl", {**RUN, "t": later, "pid": 8}, interval(0, begin=later)))
    of = f"of 27.5 s of the 30.0 s of its processes: {without}"
    assert rate_of(run_of(*paths)) == Rate(2000 / 27.5, of)


def test_a_window_that_is_next_to_nothing_of_a_run_leaves_it_whole(tmp_path: Path) -> None:
    window = interval(1)
    window["loaders"][0] |= {"profiled_samples": 8, "profiled_us": 1e3}
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, interval(0), window))
    of = "of the whole run, without the time to record windows and the steps that recording slowed"
    assert rate_of(run) == Rate(1592 / 19.999, of)


def test_a_pause_is_part_of_the_rate_of_the_whole_run(tmp_path: Path) -> None:
    """Half of its time nothing was taken: a checkpoint, say."""
    paused = [{**interval(number), "loaders": []} for number in (2, 3)]
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, interval(0), interval(1), *paused))
    assert rate_of(run) == Rate(40, "of the whole run")


def test_the_samples_of_an_evaluation_are_said_to_be_in_the_rate(tmp_path: Path) -> None:
    evaluated = interval(1)
    evaluated["loaders"].append(evaluated["loaders"][0] | {"loader": 1, "steps": 20})
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, interval(0), evaluated))
    assert rate_of(run) == Rate(120, "of the whole run, all DataLoaders together")


def test_a_window_that_no_event_began_is_a_phase_that_names_its_capture(tmp_path: Path) -> None:
    """As of an `annotate.profile`."""
    recorded = {"kind": "capture", "t": BEGIN + 19, "from": BEGIN + 12, "capture": "c.pt.trace.json.gz"}
    lines = (*map(interval, range(3)), event(1, "stall", 25), recorded)
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, *lines))
    (report,) = whole_runs_report([(run, "exp1")]).runs
    (phase,) = report.phases
    assert (phase.kind, phase.from_s, phase.to_s, phase.capture) == ("recorded", 12, 19, "c")
    assert [point.HasField("samples_per_s") for point in report.points] == [True, False, True]
    assert [mark.capture for mark in report.marks] == [""], "it shows another time than the stall's"
    assert "window recorded       after 12.0 s, for 7.00 s: c.pt.trace.json.gz" in runs_text([run])


def test_a_run_that_was_recorded_all_the_time_says_so_of_its_rate(tmp_path: Path) -> None:
    recorded = {"kind": "capture", "t": BEGIN + 19, "event": 1, "capture": "c.pt.trace.json", "from": BEGIN + 1}
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, interval(0), interval(1), recorded))
    assert rate_of(run) == Rate(80, "of the whole run, with the times in which a window was recorded")


def test_a_run_in_the_report_names_the_capture_of_a_stall(tmp_path: Path) -> None:
    recorded = {"kind": "capture", "t": BEGIN + 31, "event": 1, "capture": "node_7.pt.trace.json"}
    path = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), event(1, "stall", 30), recorded)
    (report,) = whole_runs_report([(run_of(path), "exp1")]).runs
    (mark,) = report.marks
    assert (report.run, mark.capture, mark.at_s, mark.change) == ("exp1", "node_7", 30, "stall")
    assert report.sentence.endswith("25.0% of the step time is data wait; 1 stall, the longest 25.0 s.")
    assert not report.HasField("rank") and not report.ended


@pytest.mark.parametrize("field", ["epoch", "batch"])
def test_numbers_that_cannot_be_true_cost_the_run_a_line(tmp_path: Path, field: str) -> None:
    bad = {**event(1, "stall", 30), field: 10**12}
    path = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), bad)
    report = whole_runs_report([(run_of(path), ".")])
    assert not report.runs and "impossible numbers" in report.problem_texts[0]


def test_without_a_run_the_report_says_how_to_make_one() -> None:
    assert "ANNOTATE_WATCH" in whole_runs_report([]).hint_text


def test_the_report_has_failures_and_slow_samples(tmp_path: Path) -> None:
    run = run_of(write(tmp_path / "a.watch.jsonl", RUN, troubled(0), troubled(1)))
    (report,) = whole_runs_report([(run, "exp")]).runs
    assert (report.raised, report.measured_samples, report.gil_share) == (2, 160, 0.01)
    worst, slow = report.troubles[0], report.slow_samples[0]
    assert (worst.stage, worst.failures, worst.retries) == ("read::s3", 6, 4)
    assert worst.text == "6 times in 160 measured samples, called again 4 times"
    assert (slow.index, slow.times, slow.took_us) == (7, 2, 1e6 + 1)
    assert slow.text.startswith(f"epoch {slow.epoch}, batch {slow.batch}")
    assert slow.HasField("worker") == ("DataLoader worker" in slow.text)
    assert report.points[0].gil_share == 0 and report.points[1].gil_share == 0.02
    assert "read::s3 fails (6 times in 160 measured samples, called again 4 times)" in report.sentence


def test_steps_that_other_work_lay_in_are_said_to_be_left_out(tmp_path: Path) -> None:
    shared = interval(0)
    shared["loaders"][0]["unused_steps"] = 16
    (report,) = whole_runs_report([(run_of(write(tmp_path / "a.watch.jsonl", RUN, shared)), "exp1")]).runs
    assert "in 10.0 s (and 16 not timed: recorded, or with another DataLoader's batches between): " in report.sentence
