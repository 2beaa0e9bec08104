"""The routes `whole_runs` and `ranks`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_dataplugin.report.report_pb2 import Ranks
from tb_dataplugin.tb.rank_runs import Captures, RankRuns, read_ranks
from tests.rank_traces import Spent, captures, write
from tests.tb_dataplugin.tb.test_plugin import Host
from tests.tb_dataplugin.test_watchfile import RUN, event, interval
from tests.tb_dataplugin.test_watchfile import write as write_run


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "logdir" / "exp1").mkdir(parents=True)
    return Host(tmp_path / "logdir", tmp_path / "cache")


def read_here(self: RankRuns, run: str, key: str, found: Captures) -> Ranks:
    return read_ranks(run, dict(found), ())


def test_a_whole_run_is_shown_and_grows(host: Host) -> None:
    path = write_run(host.logdir / "exp1" / "a.watch.jsonl", RUN, interval(0), interval(1))
    host.work()
    code, answer = host.get("whole_runs")
    (run,) = answer["runs"]
    assert (code, run["run"], run["steps"], len(run["points"]), answer["hint_text"]) == (200, "exp1", 200, 2, "")
    assert host.get("runs")[1]["whole_runs"] == 1 and host.plugin.is_active()
    write_run(path, RUN, interval(0), interval(1), interval(2), event(1, "stall", 25))
    host.work()
    assert host.get("whole_runs")[1]["runs"][0]["mark_count"] == 1


def test_a_file_that_is_no_run_costs_a_line(host: Host) -> None:
    write_run(host.logdir / "exp1" / "a.watch.jsonl", "no JSON")
    write_run(host.logdir / "b.watch.jsonl", RUN, interval(0))
    (host.logdir / "c.watch.jsonl").symlink_to("/etc/passwd")
    host.work()
    answer = host.get("whole_runs")[1]
    assert len(answer["runs"]) == 1 and len(answer["problem_texts"]) == 2


def test_without_runs_and_ranks_the_routes_say_how_to_make_them(host: Host) -> None:
    host.work()
    assert "ANNOTATE_WATCH" in host.get("whole_runs")[1]["hint_text"]
    assert "all ranks" in host.get("ranks")[1]["hint_text"]


def test_ranks_of_a_folder_stand_with_the_ids_of_their_captures(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RankRuns, "find", read_here)
    write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), host.logdir / "exp1")
    host.work()
    listed = host.get("runs")[1]
    assert listed["rank_runs"] == 1 and {entry["rank"] for entry in listed["captures"]} == {0, 1}
    code, answer = host.get("ranks")
    (ranks,) = answer["ranks"]
    assert (code, ranks["run"], ranks["owners"][0]["rank"], ranks["owners"][0]["cause"]) == (
        200, "exp1", 1, "decode::jpeg",
    )  # fmt: skip
    assert [row["capture"] for row in ranks["rows"]] == ["exp1/rank0", "exp1/rank1"]
    assert ranks["sentence"].startswith("Rank 1 holds up the others")
    assert host.get("ranks?run=other")[1]["ranks"] == []


def test_a_folder_of_each_rank_is_one_run(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the files in them are called the same."""
    monkeypatch.setattr(RankRuns, "find", read_here)
    for rank, builder in enumerate(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000))):
        folder = host.logdir / "exp1" / f"rank{rank}"
        folder.mkdir()
        builder.write(folder / "main.pt.trace.json")
    host.work()
    listed = host.get("runs")[1]
    assert listed["rank_runs"] == 1 and [one["rank_run"] for one in listed["captures"]] == ["exp1", "exp1"]
    (ranks,) = host.get("ranks")[1]["ranks"]
    assert (ranks["run"], ranks["folders"]) == ("exp1", ["exp1/rank0", "exp1/rank1"])
    assert [(row["rank"], row["capture"]) for row in ranks["rows"]] == [(0, "exp1/rank0/main"), (1, "exp1/rank1/main")]
    assert ranks["owners"][0]["rank"] == 1
    assert host.get("ranks?run=exp1/rank1")[1]["ranks"] == [ranks]


def test_ranks_are_read_in_the_background(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RankRuns, "find", lambda *_: None)
    write(captures(lambda rank, step: Spent()), host.logdir / "exp1")
    host.work()
    assert host.get("ranks") == (202, {"state": "loading"})


def test_a_process_of_its_own_reads_the_ranks(tmp_path: Path) -> None:
    paths = write(captures(lambda rank, step: Spent(decode=9_000 if rank else 1_000)), tmp_path)
    ranks = RankRuns((tmp_path,))
    ranks._work("exp1", "key", [(path, f"exp1/{path.name}") for path in paths])
    found = ranks.find("exp1", "key", [])
    assert found is not None and found.rows[1].capture == "exp1/rank1.pt.trace.json"


def test_captures_that_are_gone_are_said(tmp_path: Path) -> None:
    assert "the files are gone" in read_ranks("exp1", {tmp_path / "a.pt.trace.json": "a"}, ()).sentence
