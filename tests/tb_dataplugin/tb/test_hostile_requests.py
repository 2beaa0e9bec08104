"""Requests and log directories that mean harm: only captures that were read as traces are ever sent."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from tb_dataplugin.cache import Store
from tb_dataplugin.reader import opening
from tb_dataplugin.tb.analyst import Answer, Request, answer_to
from tb_dataplugin.tb.plugin import ROUTES
from tb_dataplugin.tb.processes import AnalystProcess
from tests.tb_dataplugin.tb.test_plugin import BASE, HereAnalyst, Host
from tests.trace_builder import training_run

SECRET = b"root:x:0:0:a secret that no trace has\n"


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "logdir").mkdir()
    (tmp_path / "secret").write_bytes(SECRET)
    made = Host(tmp_path / "logdir", tmp_path / "cache")
    made.analyst = RootedAnalyst(made)
    return made


class RootedAnalyst(HereAnalyst):
    """As the process that TensorBoard starts: it reads below the log directories only."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.analyst.store)
        self.host = host

    def analyse(self, path: Path, name: str, steps: str = "") -> Answer:
        self.asked.append(name)
        return answer_to(Request(os.fsencode(path), name, steps), (self.store,), self.host.library.roots)


def sent(host: Host, path: str) -> bytes:
    answer = host.client.get(BASE + path)
    content = answer.get_data()
    answer.close()
    return content


def every_route(capture_id: str) -> list[str]:
    name = quote(capture_id, safe="")
    return [
        f"trace?id={name}",
        f"report?id={name}",
        f"timeline?id={name}&width=500",
        f"spans?id={name}&words=x",
        f"compare?before={name}&after={name}",
    ]


def test_a_link_to_a_secret_is_an_error_in_one_line_and_never_sent(host: Host) -> None:
    (host.logdir / "x.pt.trace.json").symlink_to(host.logdir.parent / "secret")
    host.work()
    (entry,) = host.get("runs")[1]["captures"]
    assert entry["state"] == "error" and "leads out of the log directory" in entry["error"]
    assert opening.ENVIRONMENT in entry["error"] and "\n" not in entry["error"]
    for route in every_route("x"):
        status, answer = host.get(route)
        assert status == 422 and "leads out" in answer["error"]
    assert host.analyst.asked == []


def test_a_link_to_a_trace_outside_is_no_better(host: Host) -> None:
    outside = training_run().write(host.logdir.parent / "outside" / "a.pt.trace.json")
    (host.logdir / "x.pt.trace.json").symlink_to(outside)
    (host.logdir / "run").symlink_to(outside.parent)
    host.work()
    listing = host.get("runs")[1]
    assert [one["state"] for one in listing["captures"]] == ["error"]
    assert len(listing["problems"]) == 1 and "link to a folder" in listing["problems"][0]


def test_links_are_followed_when_the_user_says_so(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(opening.ENVIRONMENT, "1")
    outside = training_run().write(tmp_path / "outside" / "a.pt.trace.json")
    (host.logdir / "x.pt.trace.json").symlink_to(outside)
    allowed = Host(host.logdir, tmp_path / "cache")
    allowed.work()
    assert sent(allowed, "trace?id=x") == outside.read_bytes()
    assert allowed.get("report?id=x")[0] == 200


@pytest.mark.parametrize("content", [SECRET, b"{}", b'{"traceEvents": []}', b"", b"[1, 2]", b"\x1f\x8b secret"])
def test_what_did_not_parse_as_a_trace_is_never_sent(host: Host, content: bytes) -> None:
    (host.logdir / "x.pt.trace.json").write_bytes(content)
    host.work()
    status, answer = host.get("trace?id=x")
    assert status == 422 and "x.pt.trace.json" in answer["error"]


def test_what_was_not_read_yet_is_not_sent(host: Host) -> None:
    training_run().write(host.logdir / "x.pt.trace.json")
    host.library.scan()
    assert host.get("trace?id=x") == (202, {"state": "queued"})


@pytest.mark.parametrize("by", ["content", "link", "link of the folder", "pipe", "folder", "nothing"])
def test_a_file_exchanged_after_it_was_read_is_not_sent(host: Host, by: str) -> None:
    path = training_run().write(host.logdir / "run" / "x.pt.trace.json")
    host.work()
    assert sent(host, "trace?id=run/x") == path.read_bytes()
    secret = host.logdir.parent / "secret"
    facts = path.stat()
    path.unlink()
    if by == "content":
        path.write_bytes(SECRET)
    elif by == "link":
        secret.write_bytes(SECRET.ljust(facts.st_size, b"-"))
        os.utime(secret, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
        path.symlink_to(secret)
    elif by == "link of the folder":
        path.parent.rmdir()
        other = secret.parent / "elsewhere"
        other.mkdir()
        (other / path.name).write_bytes(SECRET.ljust(facts.st_size, b"-"))
        os.utime(other / path.name, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
        path.parent.symlink_to(other)
    elif by == "pipe":
        os.mkfifo(path)
    elif by == "folder":
        path.mkdir()
    status, answer = host.get("trace?id=run/x")
    assert status in (400, 422) and "\n" not in answer["error"]


def test_a_link_exchanged_before_the_analysis_is_not_read(host: Host) -> None:
    path = training_run().write(host.logdir / "x.pt.trace.json")
    outside = training_run(9).write(host.logdir.parent / "outside.pt.trace.json")
    host.library.scan()
    path.unlink()
    path.symlink_to(outside)
    assert host.library.analyse_next(host.analyst)
    status, answer = host.get("report?id=x")
    assert status == 422 and "leads out" in answer["error"]


def test_the_process_that_analyses_reads_below_the_log_directories_only(tmp_path: Path) -> None:
    inside = training_run().write(tmp_path / "logs" / "caf\udce9.pt.trace.json")
    outside = training_run().write(tmp_path / "b.pt.trace.json")
    analyst = AnalystProcess(tmp_path / "spare", limit_s=60, roots=[tmp_path / "logs"])
    try:
        assert analyst.analyse(inside, "a").state == "ready"
        assert "leads out" in analyst.analyse(outside, "b").error
    finally:
        analyst.rest()


@pytest.mark.parametrize(
    "name", ["caf\udce9", "a\x1b[31m\nb", "a\u202eb", "%2e%2e", "a&b=c#d?e", "<script>", "a+b", "'"]
)
def test_a_file_of_any_name_is_listed_reported_drawn_and_sent(host: Host, name: str) -> None:
    path = training_run().write(host.logdir / f"run {name}" / f"{name}.pt.trace.json")
    host.work()
    (entry,) = host.get("runs")[1]["captures"]
    assert entry["state"] == "ready"
    entry["id"].encode()
    for route in every_route(entry["id"])[1:]:
        assert host.get(route)[0] == 200
    assert sent(host, f"trace?id={quote(entry['id'], safe='')}") == path.read_bytes()
    report = host.get(f"report?id={quote(entry['id'], safe='')}")[1]["captures"][0]
    assert report["name"] == entry["id"]


def test_two_files_that_differ_in_their_suffix_only_are_two_captures(host: Host) -> None:
    training_run(2).write(host.logdir / "a.pt.trace.json")
    training_run(3).write(host.logdir / "a.pt.trace.json.gz")
    training_run(4).write(host.logdir / "caf\udce9.pt.trace.json")
    training_run(5).write(host.logdir / r"caf\xe9.pt.trace.json")
    host.work()
    entries = host.get("runs")[1]["captures"]
    assert len({entry["id"] for entry in entries}) == 4
    reports = [host.get(f"report?id={quote(entry['id'], safe='')}")[1] for entry in entries]
    assert sorted(one["captures"][0]["steps"]["count"] for one in reports) == [2, 3, 4, 5]
    asked = len(host.analyst.asked)
    host.work()
    assert len(host.analyst.asked) == asked  # neither takes the other's place


@pytest.mark.parametrize(
    "path", ["perfetto/a%00b", "perfetto/%00", "perfetto/" + "a" * 5000, "index.js%00", "perfetto//etc/passwd"]
)
def test_a_path_that_no_file_has_is_not_found(host: Host, path: str) -> None:
    assert host.client.get(BASE + path).status_code == 404


ODD = (
    "", "%00", "a%00", "..", "../x", "..%2f..%2fsecret", "%2e%2e/%2e%2e/secret", "/etc/passwd", "//etc/passwd", "%ff",
    "%c0%ae", "%ed%b3%a9", "%u202e", "x" * 5000, "NaN", "-1", "1e400", "9" * 400, "0x10", "%F0%9F%98%80",
    "%0d%0aSet-Cookie:%20a=b", "a;b", "a,b", "[]", "{}", "\\", "..\\..\\secret", "file:///etc/passwd", "a%2500", "+",
    "*", "x.pt.trace.json", "Infinity", "1_0", "١",
)  # fmt: skip


def _queries(random: Random) -> list[str]:
    keys = (
        "id",
        "name",
        "width",
        "start_us",
        "end_us",
        "before",
        "after",
        "words",
        "number",
        "ID",
        "id[]",
        "__proto__",
    )
    single = [f"{route}?{key}={value}" for route, key, value in itertools.product(
        ("trace", "report", "timeline", "spans", "compare", "runs"), keys, ODD)]  # fmt: skip
    mixed = [
        f"{route}?" + "&".join(f"{random.choice(keys)}={random.choice((*ODD, 'good', '500'))}" for _ in range(5))
        for route in ("timeline", "spans")
        for _ in range(500)
    ]
    return [*single, *mixed, *(f"perfetto/{value}" for value in ODD), *ODD]


def test_no_request_finds_more_than_it_may_or_fails_with_more_than_a_line(host: Host) -> None:
    training_run().write(host.logdir / "good.pt.trace.json")
    (host.logdir / "link.pt.trace.json").symlink_to(host.logdir.parent / "secret")
    host.work()
    allowed = (host.logdir / "good.pt.trace.json").read_bytes()
    for query in _queries(Random(3)):
        answer = host.client.get(BASE + query)
        content = answer.get_data()
        answer.close()
        assert answer.status_code < 500, (query, content[:300])
        assert b"secret that no trace" not in content and b"root:" not in content, query
        assert "Set-Cookie" not in answer.headers
        if answer.status_code >= 400 and answer.headers["Content-Type"].startswith("application/json"):
            assert "\n" not in json.loads(content)["error"]
        if query.startswith("trace") and answer.status_code == 200:
            assert content == allowed


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused_everywhere(host: Host, method: str) -> None:
    training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    for route in ROUTES:
        answer = host.client.open(f"{BASE}{route[1:].replace('*', 'index.html')}?id=a", method=method, data=b"x" * 1000)
        assert answer.status_code == 405, route


def test_head_sends_headers_only(host: Host) -> None:
    path = training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    for route in ("trace?id=a", "report?id=a", "runs"):
        answer = host.client.head(BASE + route)
        assert answer.status_code == 200 and answer.get_data() == b""
        answer.close()
        if route.startswith("trace"):
            assert answer.headers["Content-Length"] == str(path.stat().st_size)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example\r\nX: y".replace("\r\n", "")}, {"Host": ""}, {"Range": "bytes=0-10"},
        {"Range": "bytes=-1,5-,999999999999999999999-"}, {"Accept-Encoding": "gzip;q=x"}, {"Content-Length": "-5"},
        {"X-Forwarded-Host": "evil"}, {"If-Range": "x", "Range": "bytes=" + "0-1," * 1000},
    ],
)  # fmt: skip
def test_odd_headers_change_nothing(host: Host, headers: dict[str, str]) -> None:
    path = training_run().write(host.logdir / "a.pt.trace.json")
    host.work()
    answer = host.client.get(BASE + "trace?id=a", headers=headers)
    assert answer.status_code == 200 and answer.get_data() == path.read_bytes()
    answer.close()
    assert host.client.get(BASE + "runs", headers=headers).status_code == 200


def test_the_log_shows_no_name_raw(
    host: Host, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    training_run().write(host.logdir / "a\x1b]0;x\x07.pt.trace.json")
    monkeypatch.setattr(host.analyst, "analyse", _failing(ValueError("\x1b[2J")))
    host.work()
    monkeypatch.setattr("tb_dataplugin.tb.routes.runs_impl", _failing(ValueError("\u202e")))
    host.client.get(BASE + "runs")
    assert caplog.text and not {"\x1b", "\x07", "\u202e"} & set(caplog.text)


def _failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_a_cache_that_others_may_write_is_said_by_the_process_that_analyses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    analyst = AnalystProcess(tmp_path / "spare", limit_s=60)
    try:
        for name in "ab":
            answer = analyst.analyse(training_run().write(tmp_path / f"{name}.pt.trace.json"), name)
            assert answer.folder == str(tmp_path / "spare")
            assert Store(tmp_path / "spare").capture(answer.key) is not None
    finally:
        analyst.rest()
    assert capfd.readouterr().err.count("others may write") == 1
    assert list((tmp_path / "cache").iterdir()) == []
