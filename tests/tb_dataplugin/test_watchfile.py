"""Files of `annotate.watch`, read: restarts, cut-off lines, stalls and their captures, memory that grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.export.run_markdown import run_section
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report, whole_runs_report
from tb_dataplugin.watchfile.histogram import percentile
from tb_dataplugin.watchfile.rates import Rate
from tb_dataplugin.watchfile.reading import read_part, runs_of
from tb_dataplugin.watchfile.sentences import event_note, event_sentence, run_sentence, times_text
from tb_dataplugin.watchfile.summary import Summary, summary_of
from tests.trace_builder import TraceBuilder

BEGIN = 1_700_000_000.0
RUN = {"kind": "run", "t": BEGIN, "version": 1, "host": "node", "pid": 7, "rank": None}


def interval(number: int, begin: float = BEGIN, **machine: float) -> dict[str, Any]:
    numbers = {
        "loader": 0, "steps": 100, "samples": 800, "epochs": 1, "step_us": 1e7, "wait_us": 2.5e6, "first_wait_us": 5e5,
        "longest_step_us": 3e5, "step_times": {"66": 90, "73": 10}, "asked": 100, "ready": 150, "built": 100,
        "build_us": 3e6, "starved_us": 1e6, "measured": 10, "stage_us": {"read::a": 1e4, "decode::b": 4e4},
    }  # fmt: skip
    at = begin + 10 * number
    return {"kind": "interval", "from": at, "to": at + 10, "loaders": [numbers], "machine": machine}


def event(number: int, change: str, after: float, what: str = "data wait") -> dict[str, Any]:
    facts = {"loader": 0, "epoch": 2, "batch": 9, "took_us": 25e6, "usual_us": 2e4}
    return {"kind": "event", "t": BEGIN + after, "number": number, "change": change, "what": what, **facts}


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def summary(*paths: Path) -> Summary:
    (run,) = runs_of(map(read_part, paths))
    found = summary_of(run)
    assert found is not None
    return found


def test_the_numbers_of_a_run(tmp_path: Path) -> None:
    found = summary(write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(6)), {"kind": "end", "t": BEGIN + 60}))
    assert (found.seconds, found.steps, found.step_us, found.wait_share) == (60, 600, 1e5, 0.25)
    assert (found.rate.samples_per_s, found.epochs, found.first_wait_us) == (80, 6, 3e6)
    assert found.ready is not None and found.busy is not None
    assert (found.ready.mean, found.busy.share) == (1.5, 0.75)
    assert found.stages == (("decode::b", 4e3), ("read::a", 1e3))
    assert found.p95_us == pytest.approx(2**18.25, rel=0.1)


def outer(number: int, **facts: Any) -> dict[str, Any]:
    """An interval of 10 s: 2 s of steps, half a second of first batches."""
    line = interval(number)
    line["loaders"][0] |= {
        "step_us": 1.9e6,
        "wait_us": 1e5,
        "other_us": 1e5,
        "epochs": 5,
        "made": 5,
        "between": 5,
    } | facts
    return line


def test_steps_first_batches_and_what_is_outside_of_them_are_the_run(tmp_path: Path) -> None:
    between = {"between_us": 7e6, "longest_between_us": 3e6}
    evaluation = {"loader": 1, "steps": 10, "step_us": 4e5, "first_wait_us": 1e5, "epochs": 1, "made": 1}
    first = outer(0, **between, epochs=6)
    first["loaders"].append(evaluation)
    workers = {"kind": "loader", "loader": 0, "num_workers": 2}
    path = write(tmp_path / "a.watch.jsonl", RUN, workers, first, outer(1, **between))
    found = summary(path)
    outside = found.outside
    assert outside is not None and outside.leads
    assert (outside.steps_us, outside.first_us, outside.us) == pytest.approx((4.4e6, 1.1e6, 14.5e6))
    assert run_sentence(found).startswith(
        "72.5% of the run is outside of steps "
        "(14.5 s: 10 times between two epochs of all DataLoaders together, 1.40 s each, at most 3.00 s); "
        "the DataLoader is made anew, 10 times for 11 epochs; 200 steps in 20.0 s"
    )
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "outside of steps 14.5 s 72.5% of the run, beside 22.0% in steps of all DataLoaders and 5.50%" in text
    assert "until first batches; 10 times between two epochs of all DataLoaders together, 1.40 s each" in text
    assert "made anew, 10 times for 11 epochs: make it and its dataset once, with persistent_workers=True" in text
    report = whole_run_report(runs_of([read_part(path)])[0], "exp")
    assert report is not None
    parts = report.outside.outside_us, report.outside.steps_us, report.outside.first_batches_us
    assert sum(parts) == pytest.approx(1e6 * report.seconds)
    assert (report.outside.between, report.outside.between_us, report.outside.longest_us) == (10, 1.4e6, 3e6)
    assert report.outside.made_text.startswith("The DataLoader is made anew, 10 times for 11 epochs: make it")


def test_dataloaders_that_are_alike_are_told_apart_by_their_number(tmp_path: Path) -> None:
    """As in a capture; one that is like no other has none."""
    line = interval(0)
    line["loaders"] += [{"loader": number, "steps": 9, "step_us": 1e6, "wait_us": 5e5} for number in (1, 2)]
    alike = {"kind": "loader", "dataset": "Leaves", "batch_size": 16, "num_workers": 2}
    settings = (alike | {"loader": 0}, alike | {"loader": 1}, alike | {"loader": 2, "dataset": "Trees"})
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, *settings, line))])
    text = " ".join(runs_text([run]).split())
    own = "(the steps and the data wait above are its own)"
    assert f"by DataLoader Leaves, number 0, batch_size=16, num_workers=2 {own}: " in text
    assert "by DataLoader Leaves, number 1, batch_size=16, num_workers=2: " in text
    assert "by DataLoader Trees, batch_size=16, num_workers=2: " in text
    report = whole_run_report(run, "exp")
    assert report is not None
    assert report.loaders[0].name.startswith("Leaves, number 0, ") and report.loaders[0].is_main


def test_each_of_several_loaders_says_how_long_it_was_waited_for(tmp_path: Path) -> None:
    """Over a restart; the main one's wait for batches after the evaluation's is not known."""

    def settings(number: int, dataset: str) -> dict[str, Any]:
        return {"kind": "loader", "loader": number, "dataset": dataset, "num_workers": 2 - 2 * number, "batch_size": 8}

    evaluation = {"loader": 1, "steps": 9, "step_us": 1.4e6, "wait_us": 1.3e6, "epochs": 1, "first_wait_us": 1e5}
    between = {"made": 1, "between": 1, "between_us": 3e5, "longest_between_us": 3e5}
    first, second = (outer(number, made=1, between=0, epochs=1, unused_steps=4) for number in range(2))
    first["loaders"].append(evaluation | {"first_waits": 1} | between)
    second["loaders"].append(evaluation | between)
    texts = (settings(0, "Train"), settings(1, "Test"))
    paths = [
        write(tmp_path / "a.watch.jsonl", RUN, *texts, first),
        write(tmp_path / "b.watch.jsonl", RUN | {"t": BEGIN + 10}, *texts, second),
    ]
    found = summary(*paths)
    assert "; another DataLoader was waited for 2.80 s (14.0% of the run)" in run_sentence(found)
    runs = runs_of(map(read_part, paths))
    text = " ".join(runs_text(runs).split())
    assert (
        "Train, batch_size=8, num_workers=2 (the steps and the data wait above are its own): 210 batches in 2 epochs, "
        "waited for 1.20 s (6.00% of the run); 1.00 s of that for the first batches of 2 epochs, 500 ms each; "
        "without 8 of the batches, whose wait is not known (recorded, or after another DataLoader's)"
    ) in text
    assert (
        "Test, batch_size=8, num_workers=0: 20 batches in 2 epochs, waited for 2.80 s (14.0% of the run); "
        "200 ms of that for the first batches of 2 epochs, 100 ms each; "
        "outside of steps before its epochs: 2 times, 300 ms each, at most 300 ms"
    ) in text
    report = whole_run_report(runs[0], "exp")
    assert report is not None
    train, test = report.loaders
    assert (train.is_main, train.unknown, test.is_main, test.between) == (True, 8, False, 2)
    assert (test.data_wait_us, test.share, test.first_waits_us) == pytest.approx((2.8e6, 0.14, 2e5))
    assert "- Test, batch" in "\n".join(run_section(report))
    alone = summary(write(tmp_path / "c.watch.jsonl", RUN, texts[0], outer(0)))
    assert not alone.loaders and "all DataLoaders" not in run_sentence(alone)


def test_an_epoch_whose_first_wait_is_not_known_is_in_no_mean_of_them(tmp_path: Path) -> None:
    """The file leaves out 0: a stranger's 13 waits of 1.88 s were "14 epochs, 1.74 s on average"."""
    known, recorded = ({"loader": 0, "steps": 9, "step_us": 9e6, "wait_us": 1e6, "epochs": 1} for _ in range(2))
    intervals = [outer(0) | {"loaders": [known | {"first_wait_us": 2e6, "first_waits": 1}]}]
    intervals.append(outer(1) | {"loaders": [recorded]})
    found = summary(write(tmp_path / "a.watch.jsonl", RUN, *intervals))
    assert (found.epochs, found.first_waits, found.first_wait_us) == (2, 1, 2e6)


def test_a_run_of_steps_says_last_what_is_outside_of_them_and_little_is_no_part_of_its_sentence(tmp_path: Path) -> None:
    few = {"step_us": 7e6, "between_us": 1e6, "between": 1, "made": 1}
    path = write(tmp_path / "a.watch.jsonl", RUN, outer(0, **few))
    found = summary(path)
    assert run_sentence(found).endswith(
        "data wait; 24.0% of the run is outside of steps "
        "(2.40 s: once between two epochs, 1.00 s; 1.40 s at other times)."
    )
    assert found.outside is not None and not found.outside.made
    hardly = summary(write(tmp_path / "b.watch.jsonl", RUN, outer(0, **few | {"step_us": 8.9e6})))
    assert "outside" not in run_sentence(hardly)


def test_what_recording_took_of_a_run_is_beside_what_the_program_did(tmp_path: Path) -> None:
    line = outer(0, step_us=4e6, between_us=1e6, between=1, made=1) | {"recording_us": 2e6}
    path = write(tmp_path / "a.watch.jsonl", RUN, line)
    found = summary(path)
    outside = found.outside
    assert outside is not None and (outside.recording_us, outside.us) == pytest.approx((2e6, 3.4e6))
    assert found.rate == Rate(800 / 8, "of 8.00 s of the 10.0 s: without the time to record windows")
    assert "100 steps in 10.0 s, 2.00 s of it to record windows: " in run_sentence(found)
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "run 10.0 s 100 steps, 2.00 s of it to record windows" in text
    assert "34.0% of the run, beside 41.0% in steps, 5.00% until first batches and 20.0% to record windows; " in text
    (run,) = runs_of([read_part(path)])
    report = whole_run_report(run, "exp")
    assert report is not None and report.recording_us == 2e6
    assert report.recording_text == "2.00 s of it to record windows"
    assert [point.samples_per_s for point in report.points] == [100]
    hardly = whole_run_report(runs_of([read_part(write(path, RUN, line | {"recording_us": 900.0}))])[0], "exp")
    assert hardly is not None and hardly.recording_text == "" and "record" not in hardly.outside.text


def test_a_run_of_an_earlier_version_says_what_is_outside_where_its_untimed_steps_do_not_matter(tmp_path: Path) -> None:
    def earlier(number: int, step_us: float) -> dict[str, Any]:
        line = interval(number)
        line["loaders"][0] |= {"step_us": step_us}
        return line

    found = summary(write(tmp_path / "a.watch.jsonl", RUN, earlier(0, 2e6), earlier(1, 2e6)))
    assert "75.0% of the run is outside of steps (15.0 s: 7.50 s for each of 2 epochs)" in run_sentence(found)
    for step_us in (9.4e6, 2e7):  # little is left for anything; steps of several threads at a time
        assert summary(write(tmp_path / "b.watch.jsonl", RUN, earlier(0, step_us))).outside is None


@pytest.mark.parametrize(("beside_us", "is_known"), [(1.4e6, True), (1.6e6, False)])
def test_what_is_outside_of_the_steps_of_several_threads_at_a_time_is_not_said(
    tmp_path: Path, beside_us: float, is_known: bool
) -> None:
    line = outer(0)
    line["loaders"][0]["beside_us"] = beside_us
    alone = summary(write(tmp_path / "a.watch.jsonl", RUN, outer(0), outer(1))).outside
    assert alone is not None and alone.us == pytest.approx(15e6)
    found = summary(write(tmp_path / "b.watch.jsonl", RUN, line, outer(1)))
    assert found.outside == (alone if is_known else None)
    assert ("outside of steps" in run_sentence(found)) is is_known


def test_what_to_do_about_a_collector_with_much_of_the_run_is_said(tmp_path: Path) -> None:
    short = interval(1, gc_share=0.1)
    short["to"] = short["from"] + 2.5
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0, gc_share=0.6), short)
    found = summary(path)
    assert found.gc_share == pytest.approx(0.5), "an interval counts by its length"
    assert "; Python's garbage collector has 50.0% of the run: call gc.freeze() once" in run_sentence(found)
    text = runs_text(runs_of([read_part(path)]))
    assert "garbage collector 50.0% of the run: call gc.freeze() once" in " ".join(text.split())
    assert all(line.startswith(" " * 24) for line in text.partition("gc.freeze()")[2].splitlines()[1:] if line)
    little = summary(write(tmp_path / "b.watch.jsonl", RUN, interval(0, gc_share=0.05)))
    assert "garbage" not in run_sentence(little)


def test_a_percentile_is_read_from_a_histogram() -> None:
    assert percentile({0: 1, 40: 98, 80: 1}, 0.5) == pytest.approx(2**9.875)
    assert percentile({}, 0.5) == 0


def test_a_line_that_a_kill_cut_off_costs_itself_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0), interval(1))
    path.write_bytes(path.read_bytes()[:-30])
    found = summary(path)
    assert (found.steps, found.bad_lines) == (100, 1)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"interval","from":1,"to":NaN}',
        '{"kind":"interval","from":-1,"to":2}',
        '{"kind":"interval","from":1,"to":1e999}',
        '{"kind":"interval","from":1,"to":2,"loaders":[{"loader":0,"step_us":"x"}]}',
        '{"kind":"interval","from":1,"to":2,"loaders":[{"loader":0,"step_times":{"99999999":1}}]}',
        '{"kind":"unheard of"}',
        "[" * 100_000,
    ],
)
def test_a_line_that_says_nonsense_costs_itself_alone(tmp_path: Path, line: str) -> None:
    found = summary(write(tmp_path / "a.watch.jsonl", RUN, line, interval(0)))
    assert (found.steps, found.bad_lines) == (100, 1)


def test_restarts_are_one_run_in_the_order_of_time(tmp_path: Path) -> None:
    later = write(tmp_path / "a.watch.jsonl", {**RUN, "t": BEGIN + 1000}, interval(0, BEGIN + 1000))
    first = write(tmp_path / "b.watch.jsonl", RUN, interval(0))
    found = summary(later, first)
    assert (found.processes, found.killed, found.steps, found.seconds) == (2, 1, 200, 1010)


def test_ranks_are_runs_of_their_own(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{rank}.watch.jsonl", {**RUN, "rank": rank}, interval(0)) for rank in (1, 0)]
    assert [run.rank for run in runs_of(map(read_part, paths))] == [0, 1]


def test_recording_is_no_part_of_a_slow_time(tmp_path: Path) -> None:
    """A stranger's 0.4 s were 5.9 s: the profiler's start had stopped the loop."""
    events = event(1, "slow", 4), event(1, "usual", 34)
    capture = {"kind": "capture", "t": BEGIN + 30, "event": 1, "capture": "x.pt.trace.json.gz", "from": BEGIN + 5}
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0) | {"recording_us": 2e6}, *events, capture)
    found, text = summary(path), " ".join(runs_text(runs_of([read_part(path)])).split())
    (slow,) = found.happenings
    assert (slow.recorded_s, slow.lasted_s, slow.long_us) == (25, 30, 5e6)
    assert ", 2.00 s of it to record windows: " in run_sentence(found)  # the program works in the other 23
    assert "for 30.0 s, 25.0 s of it while a window was recorded, which slows the loop (" in run_sentence(found)
    assert "slow for 30.0 s, 25.0 s of it while a window was recorded, which slows the loop: " in text
    missed = {**capture, "capture": "", "missed": "another window is being recorded"}
    (slow,) = summary(write(tmp_path / "b.watch.jsonl", RUN, interval(0), *events, missed)).happenings
    assert slow.lasted_s == 30


def test_events_know_how_long_they_lasted_and_what_was_recorded(tmp_path: Path) -> None:
    captures = (
        {"kind": "capture", "t": BEGIN + 5, "event": 1, "capture": "x.pt.trace.json.gz"},
        {"kind": "capture", "t": BEGIN + 6, "event": 2, "missed": "another window is being recorded"},
    )
    events = event(1, "slow", 4), event(2, "stall", 5, "step time"), event(2, "usual", 34)
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0), *events, *captures)
    slow, stall = summary(path).happenings
    assert slow.until == BEGIN + 34 and slow.capture is not None and slow.capture.capture == "x.pt.trace.json.gz"
    assert stall.until is None and stall.after_s == 5
    text = runs_text(runs_of([read_part(path)]))
    assert "slow for 30.0 s: data wait 25.0 s, usually 20.0 ms; recorded in" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_how_much_of_the_data_wait_the_stalls_are(tmp_path: Path) -> None:
    """A stranger read 63.1% of data wait and a list of 8 stalls, and had to add these up himself."""

    def said(*events: dict[str, Any]) -> list[str]:
        path = write(tmp_path / "a.watch.jsonl", RUN, interval(0), interval(1), *events)
        (run,) = runs_of([read_part(path)])
        found, report = summary_of(run), whole_run_report(run, "a")
        assert found is not None and report is not None
        return [run_sentence(found), " ".join(runs_text([run]).split()), "\n".join(run_section(report))]

    stalls = [event(number, "stall", 4.0 + number) | {"took_us": 1.02e6} for number in (1, 2, 3)]
    others = [event(4, "stall", 8, "step time"), event(5, "stall", 9, "first batch"), event(6, "stall", 10)]
    others[2] |= {"loader": 1}
    assert all("3.00 s of 5.00 s added by 3 stalls" in text for text in said(*stalls))
    assert all("3.00 s of 5.00 s added by 3 stalls" in text for text in said(*stalls, *others))
    assert all("1.00 s of 5.00 s added by 1 stall" in text for text in said(stalls[0], event(7, "slow", 12)))
    assert not any("added by" in text for text in said(*others))
    unwritten = event(8, "stall", 25) | {"took_us": 1.02e6}
    assert all("1.00 s of 5.00 s added by 1 stall" in text for text in said(stalls[0], unwritten))


def test_a_stalls_window_has_the_steps_after_it(tmp_path: Path) -> None:
    """A stranger looked for 1.7 s of data wait in it. Of a slow time it may be a part, or what comes after it."""
    events = (
        event(1, "stall", 4),
        event(2, "slow", 10),
        event(2, "usual", 20),
        event(3, "slow", 30),
        event(3, "usual", 40),
    )
    captures = [
        {
            "kind": "capture",
            "t": BEGIN + till,
            "event": number,
            "capture": f"{number}.pt.trace.json",
            "from": BEGIN + begin,
        }
        for number, begin, till in ((1, 5, 6), (2, 12, 14), (3, 40, 42))
    ]
    path = write(tmp_path / "a.watch.jsonl", RUN, *map(interval, range(5)), *events, *captures)
    assert [one.is_captured_after for one in summary(path).happenings] == [True, False, True]
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert text.count("; the steps after it are in ") == 2 and text.count("; recorded in 2.pt") == 1


def test_step_time_and_data_wait_that_are_slow_at_once_are_one_event(tmp_path: Path) -> None:
    waits, steps = event(1, "slow", 4), event(2, "slow", 5, "step time")
    ends = event(1, "usual", 30), event(2, "usual", 34, "step time")
    later = event(3, "slow", 40, "step time")
    capture = {"kind": "capture", "t": BEGIN + 5, "event": 2, "capture": "x.pt.trace.json.gz"}
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0), waits, steps, *ends, later, capture)
    both, alone = summary(path).happenings
    assert both.until == BEGIN + 34 and both.capture is not None and [one.number for one in both.also] == [2]
    assert alone.until is None and not alone.also
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "slow for 30.0 s: data wait 25.0 s, usually 20.0 ms; step time 25.0 s, usually 20.0 ms; recorded in" in text


def test_a_slow_time_is_said_with_when_how_long_and_what_grew(tmp_path: Path) -> None:
    steps = event(3, "slow", 60, "step time"), event(3, "usual", 65, "step time")
    waits = event(1, "slow", 4), {**event(1, "usual", 30), "mean_us": 6e4}
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0), *waits, *steps)
    (run,) = runs_of([read_part(path)])
    found = summary_of(run)
    assert found is not None
    assert "slow 2 times, the longest time after 4.00 s, for 26.0 s (data wait 60.0 ms, usually 20.0 ms)" in (
        run_sentence(found)
    )
    wait, step = found.happenings
    assert event_sentence(wait).endswith("slow after 4.00 s, for 26.0 s: data wait 60.0 ms, usually 20.0 ms.")
    assert event_sentence(step).endswith("step time 25.0 s, usually 20.0 ms.")  # too few intervals for its data wait


def test_what_is_usual_says_how_few_steps_it_is_of_and_what_a_first_batch_is_held_against(tmp_path: Path) -> None:
    early, late = ({**event(number, "stall", 4), "usual_steps": steps} for number, steps in ((1, 50), (2, 200)))
    first = event(3, "stall", 9, "first batch")
    found = summary(write(tmp_path / "a.watch.jsonl", RUN, interval(0), early, late, first)).happenings
    assert [times_text(one) for one in found] == [
        "data wait 25.0 s, usually 20.0 ms (median of 50 steps so far)",
        "data wait 25.0 s, usually 20.0 ms",
        "first batch 25.0 s, a step usually takes 20.0 ms",
    ]
    assert [event_note(one) for one in found] == [
        "Usual is the median of 50 steps so far.",
        "",
        "The usual time is a step's.",
    ]


def test_a_note_says_what_no_column_has(tmp_path: Path) -> None:
    both = event(1, "slow", 4), event(2, "slow", 5, "step time")
    ends = event(1, "usual", 30), event(2, "usual", 34, "step time")
    alone = event(3, "slow", 60, "step time")
    found = summary(write(tmp_path / "a.watch.jsonl", RUN, interval(0), *both, *ends, alone))
    assert [event_note(one) for one in found.happenings] == ["Step time 25.0 s, usually 20.0 ms.", ""]


def test_a_slow_step_time_says_what_the_data_wait_came_to_meanwhile(tmp_path: Path) -> None:
    """Its rise may be too small an event of its own, and yet half of what the step became longer."""
    steps = event(1, "slow", 71, "step time"), event(2, "usual", 79, "step time")
    lines = [interval(number) for number in range(9)]
    lines[7]["loaders"][0] |= {"wait_us": 6e6}
    (slow,) = summary(write(tmp_path / "a.watch.jsonl", RUN, *lines, *steps)).happenings
    assert event_note(slow) == "Data wait 60.0 ms, usually 25.0 ms by the means of intervals."
    assert "slow after 71.0 s, for 8.00 s: step time 25.0 s, usually 20.0 ms; data wait 60.0 ms" in event_sentence(slow)


def test_the_data_wait_of_a_slow_step_time_is_of_its_own_steps_where_the_run_tells_it(tmp_path: Path) -> None:
    begins, ends = event(1, "slow", 71, "step time"), event(2, "usual", 73, "step time")
    ends |= {"wait_us": 16.8e3, "usual_wait_us": 5.7e3}
    lines = [interval(number) for number in range(9)]
    (slow,) = summary(write(tmp_path / "a.watch.jsonl", RUN, *lines, begins, ends)).happenings
    assert event_note(slow) == "Data wait 16.8 ms, usually 5.70 ms."


def test_a_short_slow_time_of_a_run_that_does_not_tell_it_has_no_data_wait(tmp_path: Path) -> None:
    """An interval is mostly of other steps; what is usual is of those before, and not of a worse time that follows."""
    steps = event(1, "slow", 71, "step time"), event(2, "usual", 72, "step time")
    lines = [interval(number) for number in range(9)]
    (slow,) = summary(write(tmp_path / "a.watch.jsonl", RUN, *lines, *steps)).happenings
    assert event_note(slow) == ""


def test_a_slow_time_that_was_recorded_in_part_says_so_in_its_note(tmp_path: Path) -> None:
    steps = event(1, "slow", 50), event(2, "usual", 53)
    window = {"kind": "capture", "t": BEGIN + 52.5, "from": BEGIN + 51.5, "event": 1, "capture": "a.pt.trace.json.gz"}
    (slow,) = summary(write(tmp_path / "a.watch.jsonl", RUN, interval(0), steps[0], window, steps[1])).happenings
    assert event_note(slow) == "1.00 s of it while a window was recorded, which slows the loop."


def test_memory_that_grows_is_named_and_memory_that_does_not_is_not(tmp_path: Path) -> None:
    lines = [
        interval(number, rss_bytes=2e9 + 5e7 * number, workers_rss_bytes=1e9 + 4e8 * (number % 2), shm_bytes=1e8)
        for number in range(20)
    ]
    (growth,) = summary(write(tmp_path / "a.watch.jsonl", RUN, *lines)).growth
    assert growth.what == "training process"
    assert growth.after - growth.before == pytest.approx(15 * 5e7)
    assert growth.epochs == 20


def test_memory_that_a_start_or_a_capture_takes_does_not_grow(tmp_path: Path) -> None:
    lines = [interval(number, rss_bytes=2e8 * min(4, number // 4)) for number in range(24)]
    for one in lines[:16]:
        one["loaders"][0]["steps"] = 0
    captured = {"kind": "capture", "t": BEGIN + 125, "event": 1, "capture": "x.pt.trace.json.gz"}
    later = [interval(number, rss_bytes=1e9 + 1e9 * (number >= 13) + 1e6 * number) for number in range(24)]
    path = tmp_path / "a.watch.jsonl"
    assert summary(write(path, RUN, *lines)).growth == ()
    assert summary(write(path, RUN, *later)).growth != ()
    assert summary(write(path, RUN, *later[:13], captured, *later[13:])).growth == ()


def test_a_file_of_something_else_or_of_a_later_version_is_refused_in_one_line(tmp_path: Path) -> None:
    for lines, says in (([{"kind": "end", "t": 1}], "does not begin"), ([{**RUN, "version": 2}], "later version")):
        with pytest.raises(UnreadableTrace, match=says):
            read_part(write(tmp_path / "a.watch.jsonl", *lines))


def test_report_shows_a_run_that_has_no_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    assert main(["report", str(tmp_path)]) == 0
    assert "Whole run" in capsys.readouterr().out
    assert main(["report", str(tmp_path), "--summary"]) == 0
    assert capsys.readouterr().out.startswith("1 whole run\n")
    write(tmp_path / "b.watch.jsonl", "nothing")
    assert main(["report", str(tmp_path)]) != 0
    told = capsys.readouterr()
    assert "b.watch.jsonl" in told.err and "Whole run" in told.out


def test_a_whole_run_stands_below_the_lines_of_captures_and_above_their_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    for run in "bc":
        TraceBuilder().annotated("train").step(0, 100).write(tmp_path / f"{run}.pt.trace.json")
    assert main(["report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 captures, worst first")
    assert text.count("Whole run") == 1
    assert text.index("shares of the window") < text.index("Whole run") < text.index("b · train")


def test_a_name_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    line = interval(0)
    line["loaders"][0]["stage_us"] = {"read::\x1b[2J": 1e4}
    assert "\x1b" not in runs_text(runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, line))]))


def troubled(number: int) -> dict[str, Any]:
    line = interval(number, gil_share=0.02 * number, gc_share=0.01)
    line["loaders"][0] |= {
        "raised": 1, "measured_samples": 80, "failures": {"read::s3": 3, "decode::b": 1}, "retries": {"read::s3": 2},
        "slow_samples": [
            {"took_us": 1e6 + number, "index": 7, "epoch": number, "batch": 3, "worker": 1, "files": ["/a/x.png"]},
            {"took_us": 2e5 + number, "index": 40 + number, "epoch": number, "batch": 5},
        ],
    }  # fmt: skip
    return line


def test_failures_slow_samples_and_waits_for_the_lock_are_those_of_all_intervals(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, troubled(0), interval(1), troubled(2))
    found = summary(path)
    assert (found.raised, found.measured_samples, found.gil_share, found.gc_share) == (2, 160, 0.02, 0.01)
    assert [(one.stage, one.failures, one.retries) for one in found.troubles] == [
        ("read::s3", 6, 4),
        ("decode::b", 2, 0),
    ]
    assert [(one.sample.index, one.sample.epoch, one.times) for one in found.slow_samples] == [
        (7, 2, 2), (42, 2, 1), (40, 0, 1),
    ]  # fmt: skip
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "Python waiting for the GIL 2.00% of the time, garbage collector 1.00% of the run" in text
    assert "exceptions 2 came to the loop in place of a batch" in text
    assert "failures read::s3 6 times in 160 measured samples, called again 4 times" in text
    assert (
        "slow sample index 7: 1.00 s (epoch 2, batch 3, DataLoader worker 1; among the slowest in 2 intervals): "
        "/a/x.png slow" in text
    )


def test_a_run_of_an_earlier_version_has_none_of_these(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, interval(0))
    found = summary(path)
    assert (found.raised, found.troubles, found.slow_samples, found.gil_share) == (0, (), (), None)
    assert "GIL" not in runs_text(runs_of([read_part(path)]))


def test_failures_of_batches_that_were_not_measured_count_with_their_samples(tmp_path: Path) -> None:
    line = troubled(0)
    line["loaders"][0] |= {"other_samples": 720, "other_failures": {"read::s3": 27}}
    path = write(tmp_path / "a.watch.jsonl", RUN, line)
    found = summary(path)
    assert (found.troubles[0].failures, found.measured_samples, found.other_samples) == (30, 80, 720)
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "failures read::s3 30 times in 800 samples, called again 2 times in the 80 measured ones" in text


def test_failures_that_measured_batches_alone_have_shown_are_of_their_samples(tmp_path: Path) -> None:
    line = troubled(0)
    line["loaders"][0] |= {"other_samples": 720, "other_failures": {"sample::D": 27}}
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, line))])
    assert "failures read::s3 3 times in 80 measured samples, called again 2 times " in " ".join(
        runs_text([run]).split()
    )
    report = whole_run_report(run, "exp1")
    assert report is not None
    samples = {trouble.stage: (trouble.failures, trouble.samples) for trouble in report.troubles}
    assert samples["read::s3"] == (3, 80) and samples["sample::D"] == (27, 800)


def stepless(**facts: object) -> dict[str, Any]:
    return interval(0) | {"loaders": [{"loader": 0, **facts}]}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([stepless(epochs=40, unused_steps=760)], "all its 760 steps were left out, since a profiler was at work mean"),
        ([stepless(epochs=1, unused_steps=1)], "its only step was left out"),
        ([stepless(epochs=5, first_waits=5)], "a step is from one batch to the next, and no pass over a DataLoader"),
        ([interval(0) | {"loaders": []}], "no batch of a DataLoader was seen"),
        ([{"kind": "end", "t": BEGIN}], "no batch of a DataLoader was seen"),
        ([], "its first interval was never written: the process still runs, or was killed before"),
    ],
)
def test_a_run_without_a_step_says_why_wherever_it_is_shown(
    tmp_path: Path, lines: list[dict[str, Any]], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN | {"rank": 3}, *lines)
    assert f"no step was recorded: {why}" in " ".join(runs_text(runs_of([read_part(path)])).split())
    whole = whole_runs_report([(run, "exp1") for run in runs_of([read_part(path)])])
    (without,) = whole.runs_without_steps
    assert (without.run, without.rank) == ("exp1", 3) and without.reason_text.startswith(why)
    assert not whole.runs and not whole.hint_text, "it was recorded"
    assert main(["report", str(path), "--format", "json"]) == 0
    assert why in capsys.readouterr().out
    assert main(["report", str(path), "--format", "markdown"]) == 0
    assert why[1:] in capsys.readouterr().out
    assert main(["report", str(path), "--summary"]) == 0
    assert why in " ".join(capsys.readouterr().out.split())
