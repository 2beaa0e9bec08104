"""A cache folder that is the user's, or somebody else's, and entries that were forged or damaged."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from isal import isal_zlib

from tb_dataplugin.cache import Store, layout, trust
from tb_dataplugin.cli import main
from tb_dataplugin.pipeline import AnalysedCapture, analyse, open_capture
from tb_dataplugin.report.build_timeline import slice_timeline
from tests.trace_builder import training_run

KEY = "5" * 40


@pytest.fixture
def found() -> AnalysedCapture:
    return analyse(training_run(100).counter("host::cpu", 5, core=1.0).trace())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def keep(store: Store, found: AnalysedCapture) -> Path:
    assert store.save(KEY, found.capture, found.timeline)
    return store.folder / f"{KEY}.capture"


def test_a_folder_of_the_users_keeps_all_that_is_not_ours(tmp_path: Path, found: AnalysedCapture) -> None:
    """Also what is old, has our suffixes, and is larger than our limit."""
    names = (
        "thesis.tmp", "old.tmp", "thesis.capture", f"{'a' * 40}.capture", f"{'b' * 40}.{'c' * 16}.tmp",
        f"{'A' * 40}.capture", f"{'a' * 39}.capture", "notes.txt", f"x{'a' * 40}.capture",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).write_bytes(b"mine" * 1000)
        os.utime(tmp_path / name, (1000, 1000))
    (tmp_path / f"{'d' * 40}.capture").mkdir()
    os.mkfifo(tmp_path / f"{'e' * 40}.capture")
    before = sorted(path.name for path in tmp_path.iterdir())
    size = sum(map(len, layout.pack(found.capture, found.timeline)))
    store = Store(tmp_path, limit_bytes=size + 10)
    for digit in "123":
        assert store.save(digit * 40, found.capture, found.timeline)
        assert store.capture("a" * 40) is None  # is no entry, and stays
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, f"{'3' * 40}.capture"])


def test_what_we_left_half_written_is_removed_after_a_while(store: Store, found: AnalysedCapture) -> None:
    entry = keep(store, found)
    half = store.folder / f"{KEY}.{'0' * 16}.tmp"
    half.write_bytes(entry.read_bytes()[:50])
    os.utime(half, (1000, 1000))
    keep(store, found)
    assert not half.exists()


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775, 0o702])
def test_a_folder_that_others_may_write_is_not_used_and_said_once(
    tmp_path: Path,
    mode: int,
    found: AnalysedCapture,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store = Store(tmp_path / "cache")
    entry = keep(store, found)
    paths = [training_run(n).write(tmp_path / "logs" / f"{n}.pt.trace.json") for n in (2, 3)]
    store.folder.chmod(mode)
    assert store.capture(KEY) is None and store.timeline(KEY) is None
    assert not store.save("6" * 40, found.capture, found.timeline)
    monkeypatch.setenv("TB_DATAPLUGIN_CACHE", str(store.folder))
    assert main(["report", *map(str, paths)]) == 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and str(store.folder) in told and "others may write" in told
    assert [path.name for path in store.folder.iterdir()] == [entry.name]


@pytest.mark.parametrize("what", ["folder", "entry"])
def test_what_belongs_to_another_user_is_not_used(
    store: Store, found: AnalysedCapture, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(store, found)
    real = trust.is_own
    is_folder = 0o040000
    monkeypatch.setattr(
        trust, "is_own", lambda facts: bool(facts.st_mode & is_folder) != (what == "folder") and real(facts)
    )
    assert store.capture(KEY) is None
    assert (store.distrusted() is not None) == (what == "folder")


@pytest.mark.parametrize("forgery", ["writable", "link", "hard link"])
def test_a_forged_entry_is_no_entry_and_replaced(
    store: Store, found: AnalysedCapture, forgery: str, tmp_path: Path
) -> None:
    forged = analyse(training_run(3).trace())
    elsewhere = Store(tmp_path / "elsewhere")
    source = keep(elsewhere, forged)
    store.folder.mkdir(mode=0o700)
    entry = store.folder / source.name
    if forgery == "writable":
        entry.write_bytes(source.read_bytes())
        entry.chmod(0o666)
    elif forgery == "link":
        entry.symlink_to(source)
    else:
        entry.hardlink_to(source)
    assert store.capture(KEY) is None and store.timeline(KEY) is None
    keep(store, found)
    assert store.capture(KEY) == found.capture
    assert elsewhere.capture(KEY) == forged.capture  # the file behind the link is as it was


def looked_at(store: Store) -> None:
    """A damaged entry is a miss: nothing is raised, not even by who uses what was found."""
    store.capture(KEY)
    timeline = store.timeline(KEY)
    if timeline is not None:
        for width, start, end in ((500, 0.0, 1e4), (100, -50.0, 3.0), (8000, 20.0, 21.0)):
            slice_timeline(timeline, start, end, width)


def test_no_cut_and_no_flipped_bit_does_harm(store: Store, found: AnalysedCapture) -> None:
    entry, random = keep(store, found), Random(0)
    content = entry.read_bytes()
    for turn in range(400):
        changed = bytearray(content)
        if turn % 3 == 0:
            del changed[random.randrange(len(content)) :]
        elif turn % 3 == 1:
            changed[random.randrange(min(len(content), 3000))] ^= 1 << random.randrange(8)
        else:
            at = random.randrange(len(content))
            changed[at : at + random.randrange(60)] = random.randbytes(random.randrange(60))
        entry.write_bytes(changed)
        entry.chmod(0o600)
        looked_at(store)


def test_no_forged_header_does_harm(store: Store, found: AnalysedCapture) -> None:
    """Lengths, offsets, types and numbers that lie, under checksums that are right."""
    entry, random = keep(store, found), Random(1)
    content = entry.read_bytes()
    size = struct.unpack("<8sII", content[:16])[1]
    header, rest = msgspec.json.decode(content[16 : 16 + size]), content[16 + size :]
    lies: tuple[object, ...] = (-1, 0, 1, 7, 64, 2**31, 2**40, 2**62, 2**63, 2**70, "x", None, [], "<i4", "<f8", 1.5)
    hits = 0
    for _ in range(600):
        forged = msgspec.json.decode(msgspec.json.encode(header))
        _lie(forged, random, random.choice(lies))
        text = msgspec.json.encode(forged) if random.random() < 0.97 else b"[" * 5000
        entry.write_bytes(layout.PREFIX.pack(layout.MAGIC, len(text), isal_zlib.crc32(text)) + text + rest)
        entry.chmod(0o600)
        looked_at(store)
        hits += not entry.exists()
    assert hits > 100  # damaged entries of ours are removed


def _lie(value: list[Any], random: Random, lie: Any) -> None:
    at = random.randrange(len(value))
    if isinstance(value[at], list) and value[at] and random.random() < 0.9:
        _lie(value[at], random, lie)
    else:
        value[at] = lie


@pytest.mark.parametrize("size", [1 << 32, 41 * 10**9])
@pytest.mark.parametrize("part", ["header", "capture", "columns"])
def test_a_sparse_giant_is_a_miss(store: Store, found: AnalysedCapture, size: int, part: str) -> None:
    entry = keep(store, found)
    content = entry.read_bytes()
    header = msgspec.json.decode(content[16 : 16 + struct.unpack("<8sII", content[:16])[1]])
    if part != "header":
        header[("capture", "columns").index(part)][0] = size
    text = msgspec.json.encode(header)
    length = 2**32 - 1 if part == "header" else len(text)
    entry.write_bytes(layout.PREFIX.pack(layout.MAGIC, length, isal_zlib.crc32(text)) + text)
    os.truncate(entry, size + 10_000)
    assert store.capture(KEY) is None and store.timeline(KEY) is None


def test_a_folder_that_is_a_link_of_the_users_is_used(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "big")
    path = training_run().write(tmp_path / "a.pt.trace.json")
    assert open_capture(path, stores=[Store(tmp_path / "cache")]).store is not None
