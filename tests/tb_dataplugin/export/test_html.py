from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.export.as_html import MAX_BYTES, as_html
from tb_dataplugin.pipeline import analyse, as_report
from tb_dataplugin.report.report_pb2 import Gap
from tests import rank_traces
from tests.lines_run import lines_run
from tests.trace_builder import training_run

NASTY = "transform::</script><script>alert(1)</script><!--"


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data-pipeline-embedded">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    told: dict[str, Any] = json.loads(found[1])
    return told


def test_names_cannot_break_out_of_the_data() -> None:
    analysed = analyse(training_run().stage(NASTY, 5, 1).trace())
    page = as_html(as_report([analysed.capture]), [analysed.timeline], "<b>&\"'</script>")
    told = embedded(page)
    assert any(NASTY.split("::")[1] in stage["label"] for stage in told["report"]["captures"][0]["stages"])
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == 2 and "<title>&lt;b&gt;" in page
    assert "<!--" not in page


def test_several_folders_are_runs_of_their_own(tmp_path: Path) -> None:
    folders = [tmp_path / "logs" / name for name in ("one", "deep/ranks", "two")]
    for folder in folders[::2]:
        training_run().write(folder / "host_1.pt.trace.json")
    rank_traces.write(rank_traces.captures(lambda rank, step: rank_traces.Spent()), folders[1])
    assert main(["report", *map(str, folders), "--format", "html", "-o", str(tmp_path / "page.html")]) == 0
    told = embedded((tmp_path / "page.html").read_text())
    runs = {row["run"] for row in told["rows"]["rows"]}
    assert runs == {"one", "deep/ranks", "two"}
    assert [ranks["run"] for ranks in told["report"]["ranks"]] == ["deep/ranks"]
    assert main(["report", str(folders[0]), "--format", "html", "-o", str(tmp_path / "page.html")]) == 0
    (row,) = embedded((tmp_path / "page.html").read_text())["rows"]["rows"]
    assert (row["run"], row["name"]) == (".", "host_1")


def test_traces_that_could_not_be_read_are_named_in_the_page(tmp_path: Path) -> None:
    training_run().write(tmp_path / "logs" / "good.pt.trace.json")
    (tmp_path / "logs" / "bad.pt.trace.json").write_text("no trace")
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "logs"), "--format", "html", "-o", str(page)]) == 2
    (problem,) = embedded(page.read_text())["problems"]
    assert "bad.pt.trace.json" in problem


def test_the_page_asks_nobody() -> None:
    page = as_html(as_report([]), [], "empty")
    assert "default-src 'none'" in page
    assert not re.search(r"<(?:link|img|iframe)\b|<script[^>]* src=", page)


def test_predictions_are_carried_for_the_captures_that_have_them() -> None:
    page = as_html(as_report([]), [], "x", [None, '{"predictions": [], "note": "</script>"}'])
    assert embedded(page)["what_ifs"] == [None, {"predictions": [], "note": "</script>"}]
    assert page.count("</script>") == 2


def test_the_window_is_carried_whole_and_in_parts_that_overlap() -> None:
    analysed = analyse(training_run(40).trace())
    slices = embedded(as_html(as_report([analysed.capture]), [analysed.timeline], "x"))["timelines"][0]["slices"]
    spans = [(one.get("start_us", 0), one["end_us"]) for one in slices]
    assert spans[0] == (0, 4000) and len(spans) == 1 + 7 + 15 + 31
    assert any(start <= 1900 and end >= 2100 and end - start <= 500 for start, end in spans)


def test_a_report_too_large_loses_list_entries_and_timelines_but_not_counts() -> None:
    analysed = analyse(training_run().trace())
    for number in range(100_000):
        analysed.capture.devices[0].gaps.append(Gap(start_us=number, duration_us=1, cause="unknown"))
    analysed.capture.devices[0].gap_count = 100_000
    page = as_html(as_report([analysed.capture]), [analysed.timeline], "x")
    assert len(page.encode()) <= MAX_BYTES
    [device] = embedded(page)["report"]["captures"][0]["devices"]
    assert device["gap_count"] == 100_000 and 20 <= len(device["gaps"]) <= 500


def test_a_page_keeps_its_limit_whatever_else_it_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Predictions, rows, problems and what stands between them count as well as timelines."""
    analysed = analyse(training_run(40).trace())
    report, timelines = as_report([analysed.capture] * 6), [analysed.timeline] * 6
    carried = ([json.dumps({"predictions": "x" * 20_000})] * 6, ["cannot be read"] * 100)
    bare = len(as_html(report, [None] * 6, "x", *carried).encode())
    with_all = len(as_html(report, timelines, "x", *carried).encode())
    numbers = set()
    for limit in (bare + 500, *range(bare, with_all + 40_000, 40_000)[1:]):
        monkeypatch.setattr("tb_dataplugin.export.as_html.MAX_BYTES", limit)
        page = as_html(report, timelines, "x", *carried)
        assert len(page.encode()) <= limit
        numbers.add(sum(len(one["slices"]) for one in embedded(page)["timelines"]))
    assert min(numbers) < max(numbers) == 6 * (1 + 7 + 15 + 31)


def test_rows_say_when_their_captures_were_taken_where_that_is_known() -> None:
    """Trends are of captures taken one after the other. Files that were copied have other times than their traces."""
    report = as_report([analyse(training_run().trace()).capture] * 3)
    for capture, (name, began) in zip(report.captures, (("a", 5e6), ("h_1.1700000000000", 0), ("c", 0)), strict=True):
        capture.name, capture.window_unix_us = f"run/{name}", began
    for files, last in (([10**9, 10**9, 7 * 10**9], (7, "file")), ((), (0, ""))):
        rows = embedded(as_html(report, [], "x", modified_ns=files))["rows"]["rows"]
        found = [(row["taken"], row["taken_by"]) for row in rows]
        assert found == [(5, "trace"), (1_700_000_000, "name"), last]


def test_html_goes_to_a_file_and_says_how_large_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training_run().write(tmp_path / "run" / "a.pt.trace.json.gz")
    target = tmp_path / "report.html"
    assert main(["report", str(tmp_path), "--format", "html", "-o", str(target)]) == 0
    assert "B, opens in a browser without a server" in capsys.readouterr().err
    assert embedded(target.read_text("utf-8"))["report"]["captures"][0]["name"] == "run/a"


def test_a_page_too_large_for_mail_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    training_run().write(tmp_path / "a.pt.trace.json.gz")
    monkeypatch.setattr("tb_dataplugin.cli.report.MAX_BYTES", 1000)
    assert main(["report", str(tmp_path), "--format", "html", "-o", str(tmp_path / "report.html")]) == 0
    assert "name fewer traces" in capsys.readouterr().err


def test_a_page_does_not_flood_a_terminal_but_goes_into_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    training_run().write(tmp_path / "a.pt.trace.json.gz")
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(tmp_path), "--format", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert not list(tmp_path.glob("*.html"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for name in ("tb-dataplugin-report.html", "tb-dataplugin-report-2.html"):
        assert main(["report", str(tmp_path), "--format", "html"]) == 0
        told = capsys.readouterr()
        assert (told.out, f"wrote {name}:" in told.err) == ("", True)
        assert embedded((tmp_path / name).read_text("utf-8"))["report"]["captures"][0]["name"] == "a"


def test_a_report_too_large_loses_flame_graphs_of_stages_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    report = as_report([analyse(lines_run().trace()).capture])
    whole = as_html(report, [None], "x")
    monkeypatch.setattr("tb_dataplugin.export.as_html.MAX_BYTES", len(whole.encode()) + 8000)
    lines = embedded(as_html(report, [None], "x"))["report"]["captures"][0]["lines"]
    assert "tree" in lines["pipeline"]
    assert lines["stages"] and not any("tree" in part for part in lines["stages"])
    assert lines["stages"][0]["text"].startswith("its flame graph was left out")
    assert "tree" in embedded(whole)["report"]["captures"][0]["lines"]["stages"][0]
