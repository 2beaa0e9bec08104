"""Runs whose steps take batches from several DataLoaders: what is said of each, and why a run has no step at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.report.build_whole_run import whole_run_report
from tb_dataplugin.watchfile.axis import points_of
from tb_dataplugin.watchfile.by_loader import in_steps
from tb_dataplugin.watchfile.reading import read_part, runs_of
from tb_dataplugin.watchfile.sentences import run_sentence
from tb_dataplugin.watchfile.stepless import why_no_step
from tb_dataplugin.watchfile.summary import Summary, summary_of

BEGIN = 1_700_000_000.0
RUN = {"kind": "run", "t": BEGIN, "version": 1, "host": "node", "pid": 7, "rank": None}


def write(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def summary(path: Path) -> Summary:
    (run,) = runs_of([read_part(path)])
    found = summary_of(run)
    assert found is not None
    return found


def loader(number: int, dataset: str) -> dict[str, Any]:
    return {"kind": "loader", "loader": number, "dataset": dataset, "batch_size": 8, "num_workers": 1}


LOADERS = [loader(0, "Labelled"), loader(1, "Unlabelled"), loader(2, "Validation")]


def together(number: int) -> dict[str, Any]:
    """An interval of 10 s, in which each of 100 steps waits 60 ms for the one loader and 5 ms for the other."""
    main = {
        "loader": 0, "steps": 100, "samples": 800, "epochs": 1, "step_us": 9e6, "wait_us": 6.5e6, "others_wait_us": 6e6,
        "first_wait_us": 5e5, "longest_step_us": 3e5, "step_times": {"66": 90, "73": 10}, "other_us": 1e5, "made": 1,
        "all_built": 100, "all_build_us": 1e5, "all_starved_us": 9.9e6, "between": 1, "measured": 10, "asked": 100,
        "ready": 150, "stage_us": {"read::a": 1e4, "decode::b": 4e4},
    }  # fmt: skip
    other = {
        "loader": 1, "joined": 99, "joined_wait_us": 6e6, "samples": 800, "epochs": 1, "first_waits": 1, "made": 1,
        "first_wait_us": 1e5, "all_built": 100, "all_build_us": 9.9e6, "all_starved_us": 1e5, "measured": 5,
        "raised": 1, "stage_us": {"sample::Unlabelled": 4e5}, "asked": 100, "ready": 10,
    }  # fmt: skip
    at = BEGIN + 10 * number
    return {"kind": "interval", "from": at, "to": at + 10, "loaders": [main, other], "machine": {}}


def test_each_of_the_loaders_that_a_step_waits_for_has_its_part(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, *LOADERS, *map(together, range(3)))
    found = summary(path)
    assert (found.steps, found.untimed) == (300, 0)
    assert found.wait_share == pytest.approx(0.722, abs=1e-3)
    assert [one.dataset for one, _ in in_steps(found.loaders)] == ["Unlabelled", "Labelled"]
    assert [share for _, share in in_steps(found.loaders)] == pytest.approx([18 / 19.5, 1.5 / 19.5])
    by_name = {one.dataset: one for one in found.loaders}
    assert by_name["Labelled"].wait_us == pytest.approx(1.5e6 + 1.5e6), "its steps' and its first batches'"
    assert (by_name["Unlabelled"].batches, by_name["Unlabelled"].unknown) == (300, 0)
    assert by_name["Unlabelled"].wait_us == pytest.approx(18e6 + 0.3e6)
    assert [one.busy.share for one in found.loaders if one.busy] == pytest.approx([0.01, 0.99])
    says = "72.2% of the step time is data wait (92.3% of it for Unlabelled, batch_size=8, num_workers=1, 7.69% for Lab"
    assert says in run_sentence(found)
    assert "other DataLoader" not in run_sentence(found), "all of that is the steps' own"
    assert found.raised == 3


def test_workers_and_stages_are_told_of_the_loader_that_steps_wait_for_longest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.watch.jsonl", RUN, *LOADERS, *map(together, range(3)))
    found, runs = summary(path), runs_of([read_part(path)])
    assert found.busy is not None and (found.busy.share, found.busy.batches, found.busy.of) == (0.99, 300, 300)
    assert found.ready is not None and (found.ready.mean, found.ready.of) == (0.1, 297)
    assert dict(found.stages) == pytest.approx({"sample::Unlabelled": 8e4})
    assert [point.busy_share for point in points_of(runs[0])] == [0.99] * 3
    text = " ".join(runs_text(runs).split())
    assert "99.0% busy while epochs go on, measured on 300 batches, of Unlabelled, batch_size=8, num_workers=1" in text
    assert "297 of the batches came in the steps of another DataLoader; its DataLoader workers 99.0% busy" in text
    report = whole_run_report(runs[0], "exp1")
    assert report is not None and report.busy_note.endswith("of Unlabelled, batch_size=8, num_workers=1")
    assert [one.data_wait_part for one in report.loaders] == pytest.approx([1.5 / 19.5, 18 / 19.5])
    assert [one.busy_text for one in report.loaders] == ["1.00%", "99.0%"]


def test_nothing_is_said_of_time_between_epochs_that_is_nothing(tmp_path: Path) -> None:
    line = together(0)
    line["loaders"][1]["between"] = 4
    path = write(tmp_path / "a.watch.jsonl", RUN, *LOADERS, line)
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "4 times" not in text and "0 µs" not in text and "5 times" not in text
    line["loaders"][1]["between_us"] = 4e3
    path = write(tmp_path / "a.watch.jsonl", RUN, *LOADERS, line)
    text = " ".join(runs_text(runs_of([read_part(path)])).split())
    assert "outside of steps before its epochs: 4 times, 1.00 ms each" in text


PROFILER, OTHERS = "a profiler was at work meanwhile", "batches of another DataLoader came between"


@pytest.mark.parametrize(
    ("main", "other", "says"),
    [
        ({"unused_steps": 260, "made": 1}, {"unused_steps": 246}, f"all its 260 steps were left out, since {OTHERS}"),
        ({"unused_steps": 1, "made": 1}, {"epochs": 1}, f"its only step was left out, since {OTHERS}"),
        ({"unused_steps": 9, "profiled_steps": 9, "profiled_samples": 72}, {"unused_steps": 2}, PROFILER),
        ({"unused_steps": 9, "profiled_samples": 72, "made": 1}, None, PROFILER),
        (
            {"unused_steps": 9, "profiled_steps": 4, "profiled_samples": 32, "made": 1},
            {"unused_steps": 2},
            f"{PROFILER} (4 of them) or {OTHERS} (the others)",
        ),
        ({"unused_steps": 9}, {"unused_steps": 2}, f"{PROFILER} or {OTHERS}"),  # of an earlier version
    ],
)
def test_a_run_without_a_step_says_how_many_of_one_loader_were_left_out_and_why(
    tmp_path: Path, main: dict[str, Any], other: dict[str, Any] | None, says: str
) -> None:
    loaders = [{"loader": 0, **main}, *([{"loader": 1, **other}] if other else [])]
    line = {"kind": "interval", "from": BEGIN, "to": BEGIN + 10, "loaders": loaders, "machine": {}}
    (run,) = runs_of([read_part(write(tmp_path / "a.watch.jsonl", RUN, *LOADERS, line))])
    assert why_no_step(run).endswith(says)
