"""Traces on a real S3 server, by s3fs, and by HTTP: it is slow, refuses, breaks off, hangs, or is not there."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tb_dataplugin.cli import main
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.remote import Mirror, Storage, Url
from tests.support import object_store
from tests.tb_dataplugin.tb.test_remote_logdirs import Host
from tests.trace_builder import training_run

TRACE = training_run().json()
SUFFIX = ".pt.trace.json"
MANNERS = ("denied", "vanished", "busy", "breaks", "hangs", "slow")
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_MAX_ATTEMPTS": "1",  # botocore's own, which wait for seconds in between
}


@dataclass(frozen=True)
class Bucket:
    http: str
    files: Any
    local: Path


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """``s3://runs``, and what it holds as local files."""
    local = tmp_path_factory.mktemp("bucket")
    with object_store.started() as http, pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": http}.items():
            patch.setenv(name, value)
        system = fsspec.get_filesystem_class("s3")
        patch.setattr(system, "retries", 1)
        files = fsspec.filesystem("s3")
        files.mkdir("runs")
        paths = [f"one/a{SUFFIX}", f"two/b{SUFFIX}", *(f"bad/{manner}/{manner}{SUFFIX}" for manner in MANNERS)]
        files.pipe({**{f"runs/{path}": TRACE for path in paths}, "runs/two/notes.txt": b"-"}, ACL="public-read")
        files.pipe(f"runs/private/p{SUFFIX}", TRACE)
        for path in paths[:2]:
            (local / path).parent.mkdir()
            (local / path).write_bytes(TRACE)
        yield Bucket(f"{http}/runs", files, local)
        urllib.request.urlopen(f"{http}/let_go").close()
        system.clear_instance_cache()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def say(*words: str) -> tuple[int, str, str]:
        status = main(list(words))
        return status, *capsys.readouterr()

    return say


def test_a_bucket_gives_the_report_of_the_same_files_here(bucket: Bucket, said: Said) -> None:
    reports = []
    for folder in ("s3://runs", str(bucket.local)):
        captures = []
        for name in ("one", "two"):
            status, out, err = said("report", f"{folder}/{name}", "--format", "json")
            assert (status, err) == (0, "")
            captures += [capture | {"file": ""} for capture in json.loads(out)["captures"]]
        reports.append(captures)
    assert reports[0] == reports[1]
    assert [capture["name"] for capture in reports[0]] == ["a", "b"]


@pytest.mark.parametrize(
    "words", [("compare", "s3://runs/one", "s3://runs/two"), ("report", f"s3://runs/bad/slow/slow{SUFFIX}")]
)
def test_commands_read_from_a_server(bucket: Bucket, said: Said, words: tuple[str, ...]) -> None:
    status, out, err = said(*words)
    assert (status, err) == (0, "") and out


def test_an_object_is_fetched_once_for_each_state_of_it(bucket: Bucket, tmp_path: Path) -> None:
    mirror, storage = Mirror(tmp_path / "mirror"), Storage(Url("s3://runs/changing"))

    def fetched() -> Path:
        (trace,) = storage.traces()
        return mirror.fetch(storage, trace)

    bucket.files.pipe(f"runs/changing/c{SUFFIX}", TRACE)
    first = fetched()
    number = first.stat().st_ino
    assert fetched() == first and first.stat().st_ino == number
    bucket.files.pipe(f"runs/changing/c{SUFFIX}", TRACE + b"\n")
    assert fetched().read_bytes() == TRACE + b"\n"


GONE = "there is no such file or folder; check the URL"
DENIED = "permission denied; check your credentials"
BAD = [
    ("s3://nosuch", GONE),
    (f"s3://runs/one/x{SUFFIX}", GONE),
    (f"s3://runs/bad/denied/denied{SUFFIX}", DENIED),
    (f"s3://runs/bad/vanished/vanished{SUFFIX}", GONE),
    (f"s3://runs/bad/busy/busy{SUFFIX}", ""),
    (f"s3://runs/bad/breaks/breaks{SUFFIX}", "Response payload is not completed"),
    (f"HTTP/one/x{SUFFIX}", ""),
    (f"HTTP/private/p{SUFFIX}", DENIED),
    (f"HTTP/bad/denied/denied{SUFFIX}", DENIED),
    (f"HTTP/bad/vanished/vanished{SUFFIX}", GONE),
    (f"HTTP/bad/busy/busy{SUFFIX}", "the server answers 503 (Slow Down); try again later"),
    (f"HTTP/bad/breaks/breaks{SUFFIX}", "Response payload is not completed"),
    ("http://127.0.0.1:9/runs/a.json", "Cannot connect to host 127.0.0.1:9"),
]


@pytest.mark.parametrize(("url", "reason"), BAD)
def test_what_goes_wrong_is_one_line_and_leaves_nothing(
    bucket: Bucket, said: Said, cache: Path, url: str, reason: str
) -> None:
    url = url.replace("HTTP", bucket.http)
    status, out, err = said("report", url)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    print(line)
    assert line.startswith(f"tb-dataplugin: cannot read {url}: {reason}")
    assert not any(path.is_file() for path in cache.rglob("*"))


def test_an_object_that_cannot_be_read_costs_its_row_and_the_exit_status(bucket: Bucket, said: Said) -> None:
    for name in ("fine", "denied"):
        bucket.files.pipe(f"runs/mixed/{name}{SUFFIX}", TRACE)
    status, out, err = said("report", "s3://runs/mixed", "--format", "json")
    assert status == 2
    assert [capture["name"] for capture in json.loads(out)["captures"]] == ["fine"]
    (line,) = err.splitlines()
    assert line.startswith(f"tb-dataplugin: cannot read s3://runs/mixed/denied{SUFFIX}: permission denied")


@pytest.mark.parametrize("folder", ["s3://runs", "HTTP"])
def test_a_server_that_does_not_go_on_is_not_waited_for(bucket: Bucket, tmp_path: Path, folder: str) -> None:
    url = Url(f"{folder.replace('HTTP', bucket.http)}/bad/hangs/hangs{SUFFIX}")
    (trace,) = Storage(url).traces()
    with pytest.raises(UnreadableTrace, match=r"the server does not answer \(no answer for 0.01 s\); try again later"):
        Mirror(tmp_path).fetch(Storage(url, patience_s=0.01), trace)


def test_the_tab_shows_a_bucket_and_what_is_wrong_in_it(bucket: Bucket, cache: Path) -> None:
    for name in ("fine", "denied"):
        bucket.files.pipe(f"runs/tab/{name}{SUFFIX}", TRACE)
    host = Host(cache, "s3://runs/tab")
    host.passed_s = 1.0
    host.work()
    captures = {capture["id"]: capture for capture in host.get("runs")[1]["captures"]}
    assert captures["fine"]["state"] == "ready"
    assert captures["denied"]["state"] == "error"
    assert captures["denied"]["error"].startswith(f"cannot read s3://runs/tab/denied{SUFFIX}: permission denied; ")
