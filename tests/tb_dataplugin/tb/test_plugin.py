"""The plugin inside TensorBoard's own WSGI application, in process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.test import Client

from tb_dataplugin.cli import main
from tb_dataplugin.tb.entry import _load
from tb_dataplugin.tb.logdirs import LogDir, logdirs_of
from tb_dataplugin.tb.plugin import DataPipelinePlugin
from tb_dataplugin.tb.runs import CaptureLibrary
from tests.trace_builder import training_run

BASE = "/data/plugin/data_pipeline/"


class Host:
    """A log directory, its library (without its thread: tests say when it works), and the app around it."""

    def __init__(self, logdir: Path) -> None:
        from tensorboard.backend import application

        self.logdir = logdir
        self.library = CaptureLibrary((LogDir("", logdir),))
        self.library.start = lambda: None  # type: ignore[method-assign]
        self.plugin = DataPipelinePlugin(SimpleNamespace(logdir=str(logdir)), self.library)
        self.client = Client(application.TensorBoardWSGI([self.plugin]))

    def work(self) -> None:
        self.library.scan()
        while self.library.analyse_next():
            pass

    def get(self, path: str) -> tuple[int, Any]:
        answer = self.client.get(BASE + path)
        return answer.status_code, json.loads(answer.get_data())


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_an_empty_log_directory_is_inactive_and_says_where_it_looked(host: Host) -> None:
    assert host.get("runs")[1]["scanning"] is True
    host.work()
    assert host.get("runs") == (
        200,
        {"logdir": str(host.logdir), "scanning": False, "perfetto": True, "captures": [], "problems": []},
    )
    assert host.plugin.is_active() is False


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
    monkeypatch.setattr(host.library, "_analyse", lambda trace, name: 1 / 0)
    host.work()
    status, answer = host.get("report?id=a")
    assert status == 422 and "ZeroDivisionError" in answer["error"]


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


def test_a_capture_that_was_dropped_from_memory_comes_back(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_dataplugin.tb.runs.KEEP_ANALYSED", 1)
    for name in "ab":
        training_run().write(host.logdir / f"{name}.pt.trace.json")
    host.work()
    dropped = next(name for name in "ab" if host.get(f"report?id={name}")[0] == 202)
    host.work()
    assert host.get(f"report?id={dropped}")[0] == 200


def test_timeline_slices(host: Host) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    status, whole = host.get("timeline?id=a&width=1000")
    assert status == 200
    assert [lane["kind"] for lane in whole["lanes"]] == ["steps", "stages", "device", "gaps"]
    assert (whole["start_us"], whole["end_us"]) == (0, 400)
    part = host.get("timeline?id=a&width=1000&start_us=120&end_us=130")[1]
    assert [part["names"][name] for name in part["lanes"][0]["name"]] == ["step 2"]


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


def test_a_remote_log_directory_is_a_problem_that_is_said() -> None:
    library = CaptureLibrary(logdirs_of(SimpleNamespace(logdir="gs://bucket/runs")))
    library.scan()
    assert "gs://bucket/runs is remote" in library.listing().problems[0]


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
