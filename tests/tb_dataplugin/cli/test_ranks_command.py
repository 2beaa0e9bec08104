from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tb_dataplugin.cli import main
from tests.rank_traces import Plan, Spent, captures, write
from tests.trace_builder import TraceBuilder


def late_rank(late: int) -> Plan:
    return lambda rank, step: Spent(decode=4_000 if rank == late else 1_000)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write(captures(late_rank(1), ranks=3), tmp_path)
    return tmp_path


def test_the_contract_of_the_json(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", str(run), "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema_version"], answer["run"]) == (1, str(run))
    assert [set(row) >= {"rank", "capture", "step_us", "data_wait_us", "inherited_us"} for row in answer["ranks"]] == [
        True
    ] * 3
    (owner,) = answer["owners"]
    assert {name: owner[name] for name in ("rank", "stage", "pattern")} == {
        "rank": 1, "stage": "decode::jpeg", "pattern": "fixed",
    }  # fmt: skip
    assert owner["lost_us"] == pytest.approx(answer["lost_us"]) == pytest.approx(2 * 7 * 3_000)


def test_the_text_begins_with_the_verdict(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", str(run)]) == 0
    text = capsys.readouterr().out
    assert "Rank 1 holds up the others" in text.splitlines()[2]
    assert "inherited" in text and "fixed" in text and "matched by step" in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_text_is_as_wide_as_all_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for rank, builder in enumerate(captures(late_rank(1))):
        builder.write(tmp_path / f"{'machine' * 5}_2955{rank}.179564874787857892{rank}.pt.trace.json")
    assert main(["ranks", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "_29551..578921" in text and max(map(len, text.splitlines())) <= 100


def test_a_rank_without_a_capture_is_said(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "rank2.pt.trace.json").unlink()
    assert main(["ranks", str(run)]) == 0
    assert "Rank 2 has no usable capture" in capsys.readouterr().out


def test_captures_that_do_not_belong_are_left_out_in_a_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TraceBuilder().step(0, 100).write(run / "plain.pt.trace.json")
    assert main(["ranks", str(run)]) == 0
    assert "plain.pt.trace.json is left out: it says no rank" in capsys.readouterr().err


def test_a_folder_without_ranks_is_nothing_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TraceBuilder().step(0, 100).write(tmp_path / "plain.pt.trace.json")
    assert main(["ranks", str(tmp_path)]) == 1
    error = capsys.readouterr().err.strip()
    assert error.count("\n") == 0 and "no captures of ranks" in error


def test_a_bad_trace_costs_its_own_row(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "rank2.pt.trace.json").write_text("no trace")
    assert main(["ranks", str(run)]) == 2
    captured = capsys.readouterr()
    assert "rank2.pt.trace.json" in captured.err and "Rank 1 holds up the others" in captured.out


def test_odd_facts_of_collectives_stop_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builders = captures(late_rank(1))
    for builder, group in zip(builders, ({"a": 1}, ["0"]), strict=True):
        for event in builder.events:
            if event["name"] == "c10d::allreduce_":
                event["args"] = {"Process Group Name": group, "Seq": "many"}
        builder.top_level["baseTimeNanoseconds"] = "yesterday"
        builder.top_level["distributedInfo"]["pg_config"] = [1, {"ranks": "all"}]
    write(builders, tmp_path)
    assert main(["ranks", str(tmp_path)]) == 0
    assert "Time lost across ranks is unknown" in capsys.readouterr().out


def test_of_several_windows_of_a_rank_the_newest_is_so_by_its_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files were copied in another order."""
    for window, late in (("second", 0), ("first", 1)):
        builders = captures(late_rank(late))
        for rank, builder in enumerate(builders):
            builder.top_level["baseTimeNanoseconds"] = (1_700_000_000 + (window == "second") * 60) * 10**9
            path = tmp_path / f"{window}{rank}.pt.trace.json"
            builder.write(path)
            os.utime(path, (1_800_000_000 + (window == "first"),) * 2)
    assert main(["ranks", str(tmp_path)]) == 0
    assert "Rank 0 holds up the others" in capsys.readouterr().out


def test_of_several_runs_the_newest_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for age, (name, late) in enumerate((("new", 0), ("old", 1))):
        (tmp_path / name).mkdir()
        builders = captures(late_rank(late))
        for path in write(builders, tmp_path / name):
            os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert main(["ranks", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "Rank 0 holds up the others" in said.out
    assert "2 captures of other folders left out" in said.err


def test_a_folder_per_rank_is_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builders = captures(late_rank(1))
    for rank, builder in enumerate(builders):
        (tmp_path / f"rank{rank}").mkdir()
        write([builder], tmp_path / f"rank{rank}")
    assert main(["ranks", str(tmp_path)]) == 0
    assert "Rank 1 holds up the others" in capsys.readouterr().out


@pytest.mark.parametrize("jobs", [[], ["--jobs", "2"]])
def test_a_report_reads_each_rank_once(
    run: Path, jobs: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(*_: object) -> None:
        raise AssertionError("the trace is read once more")

    for module in ("tb_dataplugin.cli.analysing", "tb_dataplugin.cli.report"):
        monkeypatch.setattr(f"{module}.row_of", again)
    assert main(["report", str(run), "--no-cache", "--format", "json", *jobs]) == 0
    (ranks,) = json.loads(capsys.readouterr().out)["ranks"]
    assert len(ranks["rows"]) == 3


@pytest.mark.parametrize("form", ["json", "html"])
def test_a_report_knows_a_run_with_a_folder_of_each_rank(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "exp" / f"rank{rank}" for rank in range(2)]
    for folder, builder in zip(folders, captures(late_rank(1)), strict=True):
        folder.mkdir(parents=True)
        builder.write(folder / "main.pt.trace.json")
    given = folders if form == "html" else [tmp_path]
    assert main(["report", *map(str, given), "--format", form]) == 0
    text = capsys.readouterr().out
    if form == "html":
        assert '"folders":["rank0","rank1"]' in text and "Rank 1 holds up the others" in text
        return
    (ranks,) = json.loads(text)["ranks"]
    assert (ranks["run"], ranks["folders"]) == ("exp", ["exp/rank0", "exp/rank1"])
    assert [row["capture"] for row in ranks["rows"]] == ["exp/rank0/main", "exp/rank1/main"]
