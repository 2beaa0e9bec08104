"""The cache: what it gives back, when it must not, and what can go wrong with a folder."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_dataplugin import pipeline
from tb_dataplugin.cache import Store, cache_key, fingerprint, user_store
from tb_dataplugin.cache.identity import code_version
from tb_dataplugin.cli import main
from tb_dataplugin.model.beside_events import CounterSeries
from tb_dataplugin.model.intervals import int64
from tb_dataplugin.options import DEFAULT_OPTIONS, AnalysisOptions
from tb_dataplugin.pipeline import AnalysedCapture, KeptCapture, analyse, open_capture
from tests.trace_builder import training_run


def same(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if is_dataclass(left):
        return type(left) is type(right) and all(
            same(getattr(left, one.name), getattr(right, one.name)) for one in fields(left)
        )
    return bool(left == right)


KEY = "5" * 40


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training_run().write(tmp_path / "logdir" / "host_1.pt.trace.json.gz")


def analysed(steps: int = 4) -> AnalysedCapture:
    counters = (CounterSeries("host::cpu", "core 0", int64([0, 5]), np.array([1.5, 2.5])),)
    return analyse(replace(training_run(steps).trace(), counters=counters))


def entries(store: Store) -> list[Path]:
    return sorted(store.folder.iterdir())


class Counted:
    """Counts how often a file is analysed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real = pipeline.analyse_file

        def analyse_file(*arguments: Any) -> AnalysedCapture:
            self.count += 1
            return real(*arguments)

        monkeypatch.setattr(pipeline, "analyse_file", analyse_file)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def test_an_entry_gives_back_what_was_kept(store: Store) -> None:
    found = analysed(steps=400)  # enough for several levels of detail
    assert any(row.levels for lane in found.timeline.lanes for row in lane.rows)
    assert store.save(KEY, found.capture, found.timeline)
    assert store.capture(KEY) == found.capture
    assert same(store.timeline(KEY), found.timeline)


def test_a_second_look_reads_no_trace(store: Store, path: Path, counted: Counted) -> None:
    first, second = (open_capture(path, "exp/host_1", stores=[store]) for _ in range(2))
    assert counted.count == 1
    assert first.capture == second.capture
    assert second.store is store and store.timeline(second.key) is not None


def test_the_name_is_that_of_this_look(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_capture(path, "a/host_1", stores=[store])
    monkeypatch.chdir(path.parent)
    again = open_capture(Path(path.name), stores=[store])
    assert (again.capture.name, again.capture.file) == ("host_1", path.name)
    assert len(entries(store)) == 1


@pytest.mark.parametrize("change", ["size", "time", "content", "options", "code"])
def test_anything_that_may_change_the_numbers_makes_a_new_entry(
    store: Store, path: Path, counted: Counted, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_capture(path, stores=[store])
    facts, options = path.stat(), DEFAULT_OPTIONS
    if change == "size":
        training_run(steps=7).write(path)
    elif change == "time":
        os.utime(path, ns=(1, 1))
    elif change == "content":
        content = bytearray(path.read_bytes())
        content[4] ^= 1  # the time in gzip's header
        path.write_bytes(content)
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    elif change == "options":
        options = AnalysisOptions(max_gaps=1)
    else:
        monkeypatch.setattr("tb_dataplugin.cache.identity.code_version", lambda: "other")
    open_capture(path, options=options, stores=[store])
    assert counted.count == 2


def test_the_codes_version_is_one_of_its_sources(tmp_path: Path) -> None:
    """A changed source file is another version; asking twice is the same one."""
    root = Path(pipeline.__file__).parent
    shutil.copytree(root.parent / "annotate", tmp_path / "annotate")
    shutil.copytree(root, tmp_path / "tb_dataplugin")
    script = "from tb_dataplugin.cache.identity import code_version; print(code_version())"

    def version() -> str:
        return subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)},
            check=True, capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip

    assert version() == code_version()
    with (tmp_path / "tb_dataplugin" / "units.py").open("a") as file:
        file.write("# changed\n")
    assert version() != code_version()


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pipeline.analyse_file

    def analyse_file(*arguments: Any) -> AnalysedCapture:
        found = real(*arguments)
        with path.open("ab") as file:
            file.write(b"\n")
        return found

    monkeypatch.setattr(pipeline, "analyse_file", analyse_file)
    found = open_capture(path, stores=[store])
    assert found.changed and found.store is None and found.capture.mode == "train"
    assert not store.folder.exists()


def test_what_is_no_regular_file_has_no_fingerprint_and_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pt.trace.json")
    assert fingerprint(tmp_path / "pipe.pt.trace.json") is None  # would hang
    assert fingerprint(tmp_path) is None
    assert fingerprint(tmp_path / "none") is None


@pytest.mark.one_of(2)
@pytest.mark.parametrize("damage", ["empty", "half", "one bit", "noise", "longer"])
@pytest.mark.parametrize("place", [0.0, 0.2, 0.5, 0.99])
def test_a_damaged_entry_is_ignored_and_replaced(
    store: Store, path: Path, damage: str, place: float, counted: Counted
) -> None:
    kept = open_capture(path, stores=[store])
    before = store.timeline(kept.key)
    (entry,) = entries(store)
    content = bytearray(entry.read_bytes())
    at = int(place * len(content))
    if damage == "empty":
        content.clear()
    elif damage == "half":
        del content[at:]
    elif damage == "one bit":
        content[at] ^= 4
    elif damage == "noise":
        content[at : at + 40] = os.urandom(len(content[at : at + 40]))
    else:
        content[at:at] = b"\0" * 64
    entry.write_bytes(content)
    timeline = store.timeline(kept.key)
    assert timeline is None or same(timeline, before)  # the damage may be in what the timeline has no part in
    again = open_capture(path, stores=[store])
    assert again.capture == kept.capture and again.store is store


def test_an_entry_that_lies_about_its_sizes_is_damaged(store: Store) -> None:
    store.folder.mkdir()
    (store.folder / f"{KEY}.capture").write_bytes(b"tbdp\x00\x01\r\n" + b"\xff" * 8)
    assert store.capture(KEY) is None
    assert entries(store) == []


def test_an_entry_may_be_deleted_while_it_is_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    found = analysed()
    store.save(KEY, found.capture, found.timeline)
    from tb_dataplugin.cache import layout

    real = layout.unpack_header

    def unpack_header(*arguments: Any) -> layout.Header:
        shutil.rmtree(store.folder)
        return real(*arguments)

    monkeypatch.setattr(layout, "unpack_header", unpack_header)
    assert same(store.timeline(KEY), found.timeline)
    assert store.capture(KEY) is None
    assert store.save(KEY, found.capture, found.timeline)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_cannot_be_written_is_no_error(
    store: Store, path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **keywords: Any) -> Any:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "replace", full)
    found = open_capture(path, stores=[store])
    assert found.store is None and not found.changed and found.capture.mode == "train"
    assert entries(store) == []


def test_a_file_where_the_folder_should_be_is_no_error(tmp_path: Path, path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert open_capture(path, stores=[Store(tmp_path / "file")]).store is None


def test_the_next_store_takes_what_the_first_cannot(tmp_path: Path, path: Path, store: Store) -> None:
    (tmp_path / "file").write_text("")
    assert open_capture(path, stores=[Store(tmp_path / "file"), store]).store is store


def test_the_folder_stays_within_its_limit_and_the_least_used_go_first(tmp_path: Path) -> None:
    found = analysed()
    probe = Store(tmp_path / "probe")
    probe.save(KEY, found.capture, found.timeline)
    size = entries(probe)[0].stat().st_size
    store = Store(tmp_path / "cache", limit_bytes=3 * size)
    first, second, third, fourth = (letter * 40 for letter in "abcd")
    for age, key in enumerate((first, second, third)):
        store.save(key, found.capture, found.timeline)
        os.utime(store.folder / f"{key}.capture", (1000 + age, 1000 + age))
    assert store.capture(first) is not None  # used just now
    store.save(fourth, found.capture, found.timeline)
    assert [path.stem for path in entries(store)] == [first, third, fourth]


def test_an_entry_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    found = analysed()
    assert not Store(tmp_path / "cache", limit_bytes=100).save(KEY, found.capture, found.timeline)


def test_what_a_killed_process_left_is_removed_after_a_while(store: Store) -> None:
    store.folder.mkdir()
    old, new = (store.folder / f"{KEY}.{letter * 16}.tmp" for letter in "ab")
    for file in (old, new):
        file.write_bytes(b"tbdp")
    os.utime(old, (1000, 1000))
    found = analysed()
    store.save(KEY, found.capture, found.timeline)
    assert [path.name for path in entries(store)] == [new.name, f"{KEY}.capture"]


def test_two_processes_fill_one_cache_at_once(tmp_path: Path, thorough: bool) -> None:
    """Both write and read the same entries many times over, under a limit that makes them delete each other's."""
    paths = [training_run(steps=n).write(tmp_path / "logdir" / f"{n}.pt.trace.json") for n in (2, 3, 4)]
    script = (
        "import sys; from pathlib import Path; from tb_dataplugin.cache import Store\n"
        "from tb_dataplugin.pipeline import analyse_file, open_capture\n"
        "store = Store(Path(sys.argv[1]), limit_bytes=9000)\n"
        "paths = [Path(path) for path in sys.argv[3:]]\n"
        "truth = {path: analyse_file(path).capture for path in paths}\n"
        "for turn in range(int(sys.argv[2])):\n"
        "    for path in paths:\n"
        "        kept = open_capture(path, stores=[store])\n"
        "        assert kept.capture == truth[path], path\n"
        "        timeline = store.timeline(kept.key)\n"
        "        assert timeline is None or len(timeline.lanes) == 4\n"
    )
    turns = "40" if thorough else "12"
    command = [sys.executable, "-c", script, str(tmp_path / "cache"), turns, *map(str, paths)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        assert process.communicate(timeout=120)[1] == ""
        assert process.returncode == 0
    assert not list((tmp_path / "cache").glob("*.tmp"))


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"TB_DATAPLUGIN_CACHE": "off"}, None),
        ({"TB_DATAPLUGIN_CACHE": "OFF"}, None),
        ({"TB_DATAPLUGIN_CACHE": "/big/disk", "XDG_CACHE_HOME": "/x"}, "/big/disk"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/tb-dataplugin"),
    ],
)
def test_where_the_users_cache_is(environment: dict[str, str], folder: str | None) -> None:
    store = user_store(environment)
    assert (None if store is None else str(store.folder)) == folder


@pytest.mark.skipif(sys.platform != "linux", reason="the usual place of Linux")
@pytest.mark.parametrize("named", ["", "relative/is/ignored"])
def test_the_usual_place(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    store = user_store({"XDG_CACHE_HOME": named})
    assert store is not None and store.folder == Path("/home/ada/.cache/tb-dataplugin")


def test_the_command_line_uses_the_users_cache_unless_told_not_to(
    tmp_path: Path, path: Path, counted: Counted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path / "cache"))
    said = []
    for options in ([], [], ["--no-cache"], ["--no-cache"]):
        assert main(["report", str(path.parent), "--format", "json", *options]) == 0
        said.append(json.loads(capsys.readouterr().out))  # the order of a map's keys means nothing
    assert said == said[:1] * 4
    assert counted.count == 3
    assert [item.name for item in path.parent.iterdir()] == [path.name]  # nothing is left in the log directory


def test_the_text_report_is_the_same_from_the_cache(
    tmp_path: Path, golden: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(tmp_path))
    said = []
    for _ in range(2):
        main(["report", str(golden / "v100_resnet50_workers4.pt.trace.json.gz")])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != ""


def test_a_fingerprint_is_of_both_ends(tmp_path: Path) -> None:
    file = tmp_path / "big"
    keys = set()
    for content in (b"a" + b"-" * 300_000 + b"a", b"b" + b"-" * 300_000 + b"a", b"a" + b"-" * 300_000 + b"b"):
        file.write_bytes(content)
        os.utime(file, ns=(5, 5))
        found = fingerprint(file)
        assert found is not None
        keys.add(cache_key(found, DEFAULT_OPTIONS))
    assert len(keys) == 3


def test_without_stores_nothing_is_looked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "fingerprint", lambda path: pytest.fail("read for nothing"))
    assert isinstance(open_capture(path), KeptCapture)
