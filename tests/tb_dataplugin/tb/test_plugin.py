"""The plugin inside TensorBoard's own WSGI application, in process."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client

from tb_dataplugin.cache import Store
from tb_dataplugin.cli import main
from tb_dataplugin.tb import documents, routes, runs
from tb_dataplugin.tb.analyst import Answer, Request, answer_to
from tb_dataplugin.tb.entry import _load
from tb_dataplugin.tb.logdirs import LogDir, logdirs_of
from tb_dataplugin.tb.plugin import DataPipelinePlugin
from tb_dataplugin.tb.runs import CaptureLibrary
from tb_dataplugin.tb.shelf import Shelf
from tests.trace_builder import training_run

BASE = "/data/plugin/data_pipeline/"
GOLDEN = Path(__file__).parents[2] / "golden" / "traces"


class HereAnalyst:
    """Analyses in this process, in the order that `asked` tells."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked: list[str] = []
        self.steps: list[str] = []

    def analyse(self, path: Path, name: str, steps: str = "") -> Answer:
        self.asked.append(name)
        self.steps.append(steps)
        return answer_to(Request(os.fsencode(path), name, steps), (self.store,))

    def rest(self) -> None: ...


class Host:
    """A log directory, its library (without its threads: tests say when it works), and the app around it."""

    def __init__(self, logdir: Path, cache: Path) -> None:
        from tensorboard.backend import application

        self.logdir = logdir
        self.later_s = 3600.0  # that files are older than they are
        self.analyst = HereAnalyst(Store(cache))
        self.library = CaptureLibrary((LogDir("", logdir),), now=lambda: time.time() + self.later_s)
        self.library.start = lambda: None  # type: ignore[method-assign]
        self.plugin = DataPipelinePlugin(SimpleNamespace(logdir=str(logdir)), self.library)
        self.client = Client(application.TensorBoardWSGI([self.plugin]))

    def work(self) -> None:
        self.library.scan()
        self.library.scan()  # what changed is read once it does not change any more
        while self.library.analyse_next(self.analyst):
            pass

    def get(self, path: str) -> tuple[int, Any]:
        answer = self.client.get(BASE + path)
        return answer.status_code, json.loads(answer.get_data())


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "logdir").mkdir()
    return Host(tmp_path / "logdir", tmp_path / "cache")


def test_a_log_directory_without_captures_is_inactive_once_anybody_writes_into_it(host: Host) -> None:
    host.work()
    assert host.plugin.is_active() is True
    (host.logdir / "run").mkdir()
    (host.logdir / "run" / ".lock").touch()
    host.work()
    assert host.plugin.is_active() is True
    (host.logdir / "run" / "events.out.tfevents.1.host").touch()
    host.work()
    assert host.plugin.is_active() is False


def test_an_empty_log_directory_says_where_it_looked(host: Host) -> None:
    assert host.get("runs")[1]["scanning"] is True
    host.work()
    assert host.get("runs") == (
        200,
        {
            "logdir": str(host.logdir),
            "scanning": False,
            "perfetto": True,
            "whole_runs": 0,
            "rank_runs": 0,
            "captures": [],
            "repeated_runs": [],
            "mixed_runs": [],
            "problems": [],
        },
    )


def test_a_capture_is_queued_then_ready_and_equals_the_command_lines_json(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    training_run().write(host.logdir / "exp" / "host_1.pt.trace.json.gz")
    host.library.scan()
    assert host.plugin.is_active() is True
    assert host.get("report?id=exp/host_1") == (202, {"state": "queued"})
    host.work()
    main(["report", str(host.logdir), "--format", "json"])
    assert host.get("report?id=exp/host_1") == (200, json.loads(capsys.readouterr().out))
    assert host.get("runs")[1]["captures"][0]["mode"] == "train"


def test_a_bad_file_is_one_line_and_hides_no_other(host: Host) -> None:
    (host.logdir / "bad.pt.trace.json").write_text("{")
    training_run().write(host.logdir / "good.pt.trace.json")
    host.work()
    status, answer = host.get("report?id=bad")
    assert status == 422 and "bad.pt.trace.json" in answer["error"] and "\n" not in answer["error"]
    assert host.get("report?id=good")[0] == 200
    states = {capture["name"]: capture["state"] for capture in host.get("runs")[1]["captures"]}
    assert states == {"bad": "error", "good": "ready"}


def test_a_bug_of_ours_is_one_line_and_hides_no_other(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    monkeypatch.setattr(host.analyst, "analyse", lambda path, name, steps: 1 / 0)
    host.work()
    status, answer = host.get("report?id=a")
    assert status == 422 and "ZeroDivisionError" in answer["error"]


def test_a_file_that_ends_too_early_is_listed_as_cut_off(host: Host) -> None:
    whole = gzip.decompress((GOLDEN / "v100_resnet50_workers0.pt.trace.json.gz").read_bytes())
    (host.logdir / "cut.pt.trace.json").write_bytes(whole[: len(whole) * 2 // 3])
    (host.logdir / "whole.pt.trace.json").write_bytes(whole)
    host.work()
    listed = {entry["name"]: entry["cut_off"] for entry in host.get("runs")[1]["captures"]}
    assert listed == {"cut": True, "whole": False}


def test_a_growing_file_is_analysed_again(host: Host) -> None:
    path = training_run(steps=2).write(host.logdir / "a.pt.trace.json")
    host.work()
    training_run(steps=3).write(path)
    os.utime(path, ns=(1, 1))
    host.work()
    assert host.get("report?id=a")[1]["captures"][0]["steps"]["count"] == 3


def test_new_files_appear_and_vanished_ones_go(host: Host) -> None:
    path = training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    path.unlink()
    training_run().write(host.logdir / "b.pt.trace.json")
    host.work()
    assert [capture["id"] for capture in host.get("runs")[1]["captures"]] == ["b"]
    assert host.get("report?id=a")[0] == 404


@pytest.mark.parametrize("route", ["report?id=a", "timeline?id=a&width=500", "spans?id=a&words=x"])
def test_what_left_memory_is_read_from_the_cache_at_once(
    host: Host, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        training_run().write(host.logdir / f"{name}.pt.trace.json")
    host.work()
    before = host.get(route)
    for shelf in (host.library._captures, host.library._timelines):
        monkeypatch.setattr(shelf, "_limit_bytes", 0)
    host.get(route.replace("id=a", "id=b"))
    assert host.get(route) == before
    assert len(host.analyst.asked) == 2


@pytest.mark.parametrize("route", ["report?id=a", "timeline?id=a&width=500", "spans?id=a&words=x"])
def test_what_left_the_cache_too_is_analysed_again(host: Host, route: str) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    shutil.rmtree(host.analyst.store.folder)
    assert host.get(route) == (202, {"state": "queued"})
    host.work()
    assert host.get(route)[0] == 200


def test_a_cache_that_keeps_nothing_is_an_error_after_some_tries(host: Host) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    for _ in range(runs.MAX_LOSSES + 1):
        host.work()
        shutil.rmtree(host.analyst.store.folder, ignore_errors=True)
        host.get("report?id=a")
    status, answer = host.get("report?id=a")
    assert status == 422 and "TB_DATAPLUGIN_CACHE" in answer["error"]


def test_a_disk_that_takes_nothing_is_an_error_of_that_capture(host: Host) -> None:
    host.analyst.store.folder.write_text("not a folder")
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    status, answer = host.get("report?id=a")
    assert status == 422 and "cannot be written" in answer["error"]


def test_the_newest_goes_first_but_for_what_the_page_asks_for(host: Host) -> None:
    for age, name in enumerate("abcd"):
        path = training_run().write(host.logdir / f"{name}.pt.trace.json")
        os.utime(path, (1000 - age, 1000 - age))
    host.library.scan()
    host.get("report?id=c")
    host.work()
    assert host.analyst.asked == ["c", "a", "b", "d"]


def test_a_file_that_was_just_written_is_listed_but_not_read_before_it_stood_still(host: Host) -> None:
    host.later_s = 0.0
    path = training_run(steps=2).write(host.logdir / "a.pt.trace.json")
    host.library.scan()
    assert not host.library.analyse_next(host.analyst)
    training_run(steps=3).write(path)
    host.library.scan()
    assert not host.library.analyse_next(host.analyst)
    assert host.get("runs")[1]["captures"][0]["state"] == "queued"
    host.library.scan()
    assert host.library.analyse_next(host.analyst)
    assert host.get("report?id=a")[1]["captures"][0]["steps"]["count"] == 3


def test_a_file_that_changes_while_it_is_read_is_read_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.library.scan()
    monkeypatch.setattr(host.analyst, "analyse", lambda path, name, steps: Answer("changed"))
    assert host.library.analyse_next(host.analyst)
    assert not host.library.analyse_next(host.analyst)  # not before it was looked at again
    monkeypatch.undo()
    host.work()
    assert host.get("report?id=a")[0] == 200


def test_what_was_killed_gets_a_second_try_after_all_others(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for age, name in enumerate("abc"):
        path = training_run().write(host.logdir / f"{name}.pt.trace.json")
        os.utime(path, (1000 - age, 1000 - age))
    asked: list[str] = []

    def analyse(path: Path, name: str, steps: str) -> Answer:
        asked.append(name)
        return Answer("error", "killed", passing=True) if name == "a" else Answer("ready", mode="train")

    monkeypatch.setattr(host.analyst, "analyse", analyse)
    host.work()
    assert asked == ["a", "b", "c"]
    assert host.library.entry("a").state == "queued"
    host.work()
    host.work()
    assert asked == ["a", "b", "c", "a"]
    assert host.library.entry("a").state == "error"


def test_memory_holds_what_was_used_last() -> None:
    shelf: Shelf[str] = Shelf(100)
    for key in "abc":
        shelf.put(key, key.upper(), 40)
        shelf.get("a")
    assert [shelf.get(key) for key in "abc"] == ["A", None, "C"]
    shelf.put("huge", "H", 1000)
    assert [shelf.get(key) for key in ("a", "c", "huge")] == [None, None, "H"]
    shelf.put("huge", "h", 10)
    shelf.put("d", "D", 80)
    assert [shelf.get(key) for key in ("huge", "d")] == ["h", "D"]


def test_the_process_that_analyses_does_not_load_tensorboard() -> None:
    script = "import sys, tb_dataplugin.tb.analyst; assert not {'tensorboard', 'werkzeug', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_pipe_that_is_named_like_a_trace_is_not_opened(host: Host) -> None:
    os.mkfifo(host.logdir / "pipe.pt.trace.json")
    training_run().write(host.logdir / "good.pt.trace.json")
    host.work()
    assert host.get("report?id=good")[0] == 200
    for route in ("report", "trace"):  # would hang
        status, answer = host.get(f"{route}?id=pipe")
        assert status in (400, 404, 422) and "\n" not in answer["error"]


def test_replays_that_left_memory_still_stand_beside_their_run(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    training_run().annotated("replay").write(host.logdir / "replay.pt.trace.json")
    training_run().write(host.logdir / "train.pt.trace.json")
    host.work()
    monkeypatch.setattr(host.library._captures, "_limit_bytes", 0)
    host.get("report?id=train")
    assert [capture.mode for capture in host.library.replays()] == ["replay"]


def test_timeline_slices(host: Host) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    status, whole = host.get("timeline?id=a&width=1000")
    assert status == 200
    assert [lane["kind"] for lane in whole["lanes"]] == ["steps", "stages", "calls", "device", "gaps"]
    assert (whole.get("start_us", 0), whole["end_us"]) == (0, 400)
    part = host.get("timeline?id=a&width=1000&start_us=120&end_us=130")[1]
    assert [part["names"][name] for name in part["lanes"][0]["name"]] == ["step 2"]


def test_spans_by_name(host: Host) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    assert host.get("spans?id=a&words=random%20CROP") == (200, {"count": 4, "undrawn": 0, "span": None})
    span = {
        "number": 3, "lane": "thread:1", "depth": 2, "name": "transform::RandomCrop",
        "start_us": 302, "duration_us": 36,
    }  # fmt: skip
    for place in ("number=-1", "from_us=300", "before_us=400"):
        assert host.get(f"spans?id=a&words=RandomCrop&{place}")[1]["span"] == span


@pytest.mark.parametrize("query", ["", "words=%20", "words=" + "a+" * 17, "words=a&number=x", "words=a&from_us=nan"])
def test_a_search_without_words_or_with_bad_numbers_is_refused_in_one_line(host: Host, query: str) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    status, answer = host.get(f"spans?id=a&{query}")
    assert status == 400 and "\n" not in answer["error"]


@pytest.mark.parametrize("query", ["", "width=5", "width=x", "width=500&start_us=9&end_us=3", "width=500&end_us=nan"])
def test_bad_numbers_are_refused_in_one_line(host: Host, query: str) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    status, answer = host.get(f"timeline?id=a&{query}")
    assert status == 400 and "\n" not in answer["error"]


def test_the_trace_itself_is_served_as_it_is(host: Host) -> None:
    path = training_run().write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    answer = host.client.get(BASE + "trace?id=a")
    assert answer.get_data() == path.read_bytes()
    answer.close()
    assert "attachment" in answer.headers["Content-Disposition"]


def test_requests_without_or_with_an_unknown_capture(host: Host) -> None:
    assert host.get("report")[0] == 400
    assert host.get("report?id=nope")[0] == 404
    assert host.get("trace?id=../../etc/passwd")[0] == 404


def test_the_bundle_is_served_as_javascript(host: Host) -> None:
    answer = host.client.get(BASE + "index.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")


def test_perfetto_is_served_offline_and_nothing_beside_it(host: Host) -> None:
    page = host.client.get(BASE + "perfetto/index.html")
    assert page.status_code == 200
    bundle = page.get_data(as_text=True).split('script src="')[1].split('"')[0]
    assert host.client.get(f"{BASE}perfetto/{bundle}").status_code == 200
    assert host.client.get(f"{BASE}perfetto/../viewer.py").status_code == 404
    assert host.client.get(f"{BASE}perfetto/%2e%2e/viewer.py").status_code == 404


def test_the_documents_are_served_as_pages_and_nothing_beside_them(host: Host) -> None:
    page = host.client.get(BASE + "docs/report.md")
    assert page.status_code == 200
    assert page.content_type.startswith("text/html")
    text = page.get_data(as_text=True)
    assert "<title>Reading a report</title>" in text and "<table>" in text and '<h2 id="the-views">' in text
    for other in ("docs/missing.md", "docs/images", "docs/../setup.py", "docs/%2e%2e/version.py", "docs/"):
        assert host.client.get(BASE + other).status_code == 404


def test_documents_have_the_colours_of_the_page_that_leads_to_them_also_the_next_one(host: Host) -> None:
    dark = host.client.get(BASE + "docs/accuracy.md?theme=dark").get_data(as_text=True)
    assert '<html lang="en" data-theme="dark">' in dark
    assert "attribution.md?theme=dark" in dark
    for other in ("", '?theme="><script>'):
        plain = host.client.get(BASE + "docs/accuracy.md" + other).get_data(as_text=True)
        assert '<html lang="en" data-theme="">' in plain and "theme=" not in plain.split("</style>")[1]


def test_every_document_that_the_help_names_is_there() -> None:
    help_of_the_page = Path(__file__).parents[3] / "frontend" / "src" / "ui" / "help.tsx"
    named = re.findall(r'"(docs/\w+\.md)"', help_of_the_page.read_text())
    assert len(named) > 8
    assert all((documents.DOCS.parent / name).is_file() for name in named)


def test_links_between_documents_lead_to_their_sections() -> None:
    pages = {path.name: documents.document(path.name) or "" for path in documents.DOCS.glob("*.md")}
    anchors = {name: set(re.findall(r'<h\d id="([^"]+)"', page)) for name, page in pages.items()}
    for name, page in pages.items():
        for link in re.findall(r'<a href="([^"]+)"', page):
            file, _, anchor = link.partition("#")
            assert link.startswith("https:") or (file or name) in pages, f"{name}: {link}"
            assert not anchor or link.startswith("https:") or anchor in anchors[file or name], f"{name}: {link}"


def test_a_bug_in_a_route_is_one_line_too(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    monkeypatch.setattr("tb_dataplugin.tb.routes.compare", lambda *_: 1 // 0)
    code, answer = host.get("compare?before=a&after=a")
    assert code == 500 and "internal error of tb-dataplugin" in answer["error"] and "\n" not in answer["error"]


def test_only_get_is_served(host: Host) -> None:
    assert host.client.post(BASE + "runs").status_code == 405


def test_the_plugin_is_listed_with_its_page(host: Host) -> None:
    listing = json.loads(host.client.get("/data/plugins_listing").get_data())["data_pipeline"]
    assert listing["tab_name"] == "Data Pipeline"
    assert listing["disable_reload"] is True
    assert listing["loading_mechanism"] == {"type": "IFRAME", "module_path": None} | listing["loading_mechanism"]


@pytest.mark.parametrize(
    ("logdir", "spec", "expected"),
    [
        ("/a", "", [("", "/a")]),
        ("", "x:/a,y:/b", [("x", "/a"), ("y", "/b")]),
        ("", "/a,/b", [("/a", "/a"), ("/b", "/b")]),
        ("", "gs://bucket/a", [("gs://bucket/a", "gs:/bucket/a")]),
    ],
)
def test_log_directories(logdir: str, spec: str, expected: list[tuple[str, str]]) -> None:
    context = SimpleNamespace(logdir=logdir, flags=SimpleNamespace(logdir_spec=spec, logdir=logdir))
    assert [(one.name, str(one.path)) for one in logdirs_of(context)] == expected


def test_several_log_directories_keep_their_names(tmp_path: Path) -> None:
    for name in "ab":
        training_run().write(tmp_path / name / "run" / "h.pt.trace.json")
    library = CaptureLibrary((LogDir("one", tmp_path / "a"), LogDir("two", tmp_path / "b")))
    library.scan()
    assert {entry.id for entry in library.listing().entries} == {"one/run/h", "two/run/h"}


def test_the_entry_module_imports_the_standard_library_only() -> None:
    script = (
        "import sys; before = set(sys.modules); import tb_dataplugin.tb.entry\n"
        "extra = {name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
        "assert extra == {'tb_dataplugin'}, extra"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_plugin_that_cannot_load_is_left_out_with_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tb_dataplugin.tb.plugin", None)
    assert _load(object(), object()) is None
    assert "The Data Pipeline tab is not shown" in caplog.text


def test_two_captures_are_compared_as_on_the_command_line(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [training_run(steps).write(host.logdir / f"{name}.pt.trace.json") for name, steps in (("a", 8), ("b", 9))]
    host.work()
    status, told = host.get("compare?before=a&after=b")
    assert status == 200 and told["outcome"] == "identical"
    assert main(["compare", *map(str, paths), "--format", "json"]) == 0
    typed = json.loads(capsys.readouterr().out)
    for side in ("before", "after"):  # the command line names files as they were given
        typed[side][0].pop("name"), told[side][0].pop("name")
    assert told == typed
    assert [run["files"] for run in host.get("compare?before=a&before=b&after=b")[1]["before"]] == [
        [str(path)] for path in paths
    ]


def test_a_comparison_names_what_is_missing(host: Host) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    assert host.get("compare?before=a")[0] == 404
    host.library.scan()
    assert host.get("compare?before=a&after=a")[0] == 202
    host.work()
    assert host.get("compare?before=a")[0] == 400
    assert host.get("compare?before=a&after=none")[0] == 404


def test_some_steps_are_analysed_when_they_are_asked_for(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    path = training_run(6).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    assert host.get("report?id=a&steps=2..4") == (202, {"state": "queued"})
    host.work()
    status, report = host.get("report?id=a&steps=2..4")
    assert main(["report", str(path), "--steps", "2..4", "--format", "json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    expected["captures"][0]["name"] = "a"
    assert (status, report) == (200, expected)
    assert len(host.get("runs")[1]["captures"]) == 1
    assert host.get("report?id=a")[1]["captures"][0]["steps"]["count"] == 6


def test_the_timeline_of_some_steps_is_theirs(host: Host) -> None:
    training_run(6).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    host.get("timeline?id=a&width=500&steps=2..4")
    host.work()
    _, some = host.get("timeline?id=a&width=500&steps=2..4")
    _, whole = host.get("timeline?id=a&width=500")
    assert some["window_end_us"] - some["window_start_us"] == 300
    assert whole["window_end_us"] - whole.get("window_start_us", 0) == 600


def test_steps_that_a_capture_does_not_have_are_one_line(host: Host) -> None:
    training_run(3).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    host.get("report?id=a&steps=2..9")
    host.work()
    status, answer = host.get("report?id=a&steps=2..9")
    assert status == 422
    assert answer["error"].endswith("it has steps 1..3; choose among those")
    assert host.get("report?id=a")[0] == 200


def test_what_is_no_range_of_steps_is_refused(host: Host) -> None:
    training_run(3).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    status, answer = host.get("report?id=a&steps=3-1")
    assert (status, "steps '3-1' is not a range of steps" in answer["error"]) == (400, True)


def test_some_steps_of_a_changed_file_are_analysed_again(host: Host) -> None:
    training_run(4).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    host.get("report?id=a&steps=2..3")
    host.work()
    training_run(8).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    host.get("report?id=a&steps=2..3")
    host.work()
    _, report = host.get("report?id=a&steps=2..3")
    assert report["captures"][0]["selection"]["recorded_count"] == 8


def test_only_so_many_selections_are_remembered(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MAX_SELECTIONS", 2)
    training_run(6).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    for first in (1, 2, 3, 4):
        host.get(f"report?id=a&steps={first}..5")
    host.work()
    assert sum("1..5" in asked or "2..5" in asked for asked in host.analyst.steps) == 0
    assert host.get("report?id=a&steps=4..5")[0] == 200


def test_all_captures_in_one_line_each_before_and_after_they_are_analysed(host: Host) -> None:
    training_run(4).write(host.logdir / "run" / "a.pt.trace.json.gz")
    (host.logdir / "bad.pt.trace.json").write_text("{")
    host.library.scan()
    host.library.scan()
    _, before = host.get("captures")
    assert [row["state"] for row in before["rows"]] == ["queued", "queued"] and before["waiting"] == 2
    assert not any("idle_share" in row for row in before["rows"])
    host.work()
    _, after = host.get("captures")
    good, bad = after["rows"]
    capture = host.get("report?id=run/a")[1]["captures"][0]
    assert (good["id"], good["run"], good["name"]) == ("run/a", "run", "a")
    assert good["idle_share"] == capture["devices"][0]["idle_us"] / capture["window_us"]
    assert good["verdict"] == capture["verdict"]["sentence"]
    assert (bad["state"], after["waiting"]) == ("error", 0) and "bad.pt.trace.json" in bad["error"]


def test_the_lines_say_which_captures_of_a_run_are_of_one_program(host: Host) -> None:
    for name in ("v100_resnet50_workers0", "v100_resnet50_workers4", "mi250_minitoy"):
        file = f"{name}.pt.trace.json.gz"
        (host.logdir / file).write_bytes((GOLDEN / file).read_bytes())
    host.work()
    programs = {row["name"]: row["program"] for row in host.get("captures")[1]["rows"]}
    assert programs["v100_resnet50_workers0"] == programs["v100_resnet50_workers4"] != programs["mi250_minitoy"]


def test_the_lines_of_captures_read_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    training_run(4).write(host.logdir / "a.pt.trace.json.gz")
    host.work()
    monkeypatch.setattr(runs, "Store", None)
    lines = host.get("captures")[1]
    assert lines["rows"][0]["state"] == "ready"
    monkeypatch.setattr(routes, "as_rows", None)  # nothing has changed: no line is made again
    assert host.get("captures")[1] == lines
