"""What libraries read and decode has a name, and nothing else about it changes."""

from __future__ import annotations

import io
import json
import os
import pathlib
import pickle
import sqlite3
import sys
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capture_helpers import names, record, trees
from numpy import load as load_array
from torch.utils.data import DataLoader
from worker_helpers import run, worker_spans

import annotate
from annotate.hooks import readers
from annotate.hooks.patching import Patches
from annotate.hooks.readers import registered
from annotate.recording import switch
from benchmarks.readers_seen import canonical
from benchmarks.readers_seen_pipelines import PIPELINES

EXPECTED = {
    "torch.load": {"decode::torch.load"},
    "pandas": {"decode::pandas.read_csv", "read::open"},
    "json.load": {"decode::json.load", "read::open", "read::file"},
    "json.loads": {"decode::json.loads"},
    "pickle": {"decode::pickle.load", "read::open"},
    "numpy.load": {"decode::numpy.load", "read::open", "read::numpy.fromfile"},
    "numpy npz": {"decode::numpy.load", "decode::numpy.NpzFile", "read::file"},
    "numpy.fromfile": {"read::numpy.fromfile"},
    "numpy.memmap": {"read::numpy.memmap", "read::numpy.memmap.astype"},
    "zipfile": {"read::zipfile.read"},
    "tarfile": {"read::tarfile.open", "read::tarfile.extractfile", "read::tarfile.read"},
    "sqlite3": {"read::sqlite3.connect", "read::sqlite3.execute", "read::sqlite3.fetchone"},
    "fsspec (local)": {"read::fsspec.open", "read::fsspec.read"},
    "fsspec (memory)": {"read::fsspec.cat_file"},
    "Path.read_bytes": {"read::pathlib.read_bytes"},
}
"""Those that come with Python or with what the tests need anyway; `tests/ecosystem/test_readers.py` has all others."""


@pytest.mark.parametrize("library", EXPECTED)
def test_a_library_has_its_spans_and_gives_what_it_gave(library: str, tmp_path: Path) -> None:
    ds = annotate.dataset(PIPELINES[library](tmp_path))
    plain = [canonical(ds[index]) for index in range(len(ds))]
    recorded: list[Any] = []
    seen = names(record(tmp_path / "run", lambda: recorded.extend(ds[index] for index in range(len(ds)))))
    assert EXPECTED[library] <= seen.keys(), sorted(seen)
    assert list(map(canonical, recorded)) == plain


class Reading:
    """A dataset whose items are what a function makes of it."""

    def __init__(self, use: Any, held: Any = None) -> None:
        self.held = held
        self._uses = [use]

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return self._uses[0](self)


def one(folder: Path, use: Any, held: Any = None) -> Any:
    """The tree of one sample."""
    ds = annotate.dataset(Reading(use, held))
    (tree,) = trees(record(folder / "run", lambda: ds[0]))
    return tree


def test_a_function_that_was_imported_by_name_is_seen_and_put_back(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(9))
    plain = load_array
    _, (call,) = one(tmp_path, lambda self: load_array(tmp_path / "x.npy"))
    assert call == ("decode::numpy.load", ["read::open", "read::numpy.fromfile"])
    assert load_array is plain is np.load


def test_a_handle_that_was_opened_before_the_capture_is_seen(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a", b"x" * 10_000)
    with zipfile.ZipFile(tmp_path / "x.zip") as held:
        assert one(tmp_path, lambda self: self.held.read("a"), held)[1] == ["read::zipfile.read"]


def test_a_lazy_module_is_not_made_to_import_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    lazy = types.ModuleType("librosa")
    lazy.__getattr__ = asked.append  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "librosa", lazy)
    monkeypatch.setitem(sys.modules, "librosa.core", lazy)
    patches = Patches()
    try:
        readers.install(patches)
    finally:
        patches.undo()
    assert [name for name in asked if not name.startswith("__")] == []


def test_of_calls_of_one_kind_the_outermost_has_the_span(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(list(range(5000))))

    def use(self: Any) -> Any:
        with open(tmp_path / "x.json") as file:
            return json.load(file)  # which calls json.loads

    assert one(tmp_path, use)[1] == ["read::open", ("decode::json.load", ["read::file"])]


def test_tiny_texts_have_no_span_and_large_ones_do(tmp_path: Path) -> None:
    tiny, large = json.dumps({"label": 1}), json.dumps(list(range(5000)))

    def use(self: Any) -> Any:
        return [json.loads(tiny) for _ in range(100)], json.loads(large), pickle.loads(pickle.dumps(3))

    assert one(tmp_path, use) == ("sample::Reading", ["decode::json.loads"])


def test_what_the_loop_itself_reads_is_no_stage(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(list(range(5000))))

    def code() -> None:
        with open(tmp_path / "config.json") as file:
            json.load(file)
        (tmp_path / "config.json").read_text()
        torch.save(torch.zeros(9), tmp_path / "checkpoint.pt")
        torch.load(tmp_path / "checkpoint.pt")
        sqlite3.connect(tmp_path / "log.db").close()

    assert names(record(tmp_path / "run", code)) == {}


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: np.load(folder / "none.npy"),
        lambda folder: torch.load(folder / "none.pt"),
        lambda folder: json.loads("{" * 9000),
        lambda folder: json.loads(*[]),
        lambda folder: pickle.loads(b"x" * 9000),
        lambda folder: (folder / "none").read_bytes(),
        lambda folder: zipfile.ZipFile(io.BytesIO(b"x")),
        lambda folder: sqlite3.connect(folder / "none" / "x.db"),
        lambda folder: np.memmap(folder / "none"),
        lambda folder: np.fromfile(folder / "none"),
    ],
)
def test_the_users_errors_are_the_librarys(call: Any, tmp_path: Path) -> None:
    def failing(self: Any) -> tuple[type, str]:
        with pytest.raises(Exception, match=r".*") as caught:
            call(tmp_path)
        return caught.type, str(caught.value)

    results: list[Any] = []
    ds = annotate.dataset(Reading(failing))
    plain = ds[0]
    record(tmp_path / "run", lambda: results.append(ds[0]))
    assert results == [plain]
    assert not switch.thread.open.reading


def test_connections_of_sqlite_are_its_own_and_a_users_factory_is_left_alone(tmp_path: Path) -> None:
    class Mine(sqlite3.Connection):
        pass

    def use(self: Any) -> None:
        with closing(sqlite3.connect(tmp_path / "x.db")) as connection, connection:
            assert isinstance(connection, sqlite3.Connection)
            assert connection.__class__ is sqlite3.Connection
            assert repr(connection).startswith("<sqlite3.Connection object at")
            connection.row_factory = sqlite3.Row
            cursor = connection.execute("select 1 as one")
            assert isinstance(cursor, sqlite3.Cursor)
            assert cursor.fetchone()["one"] == 1
            assert [tuple(row) for row in connection.execute("select 2")] == [(2,)]
            with pytest.raises(sqlite3.OperationalError, match="no such table"):
                connection.execute("select * from none")
        with closing(sqlite3.connect(tmp_path / "x.db", factory=Mine)) as mine:
            assert type(mine) is Mine

    one(tmp_path, use)


def test_a_memmap_is_read_where_it_is_copied(tmp_path: Path) -> None:
    np.arange(10_000).tofile(tmp_path / "x")
    held = np.memmap(tmp_path / "x", np.int64, "r")

    def use(self: Any) -> Any:
        part = self.held[100:200]
        assert type(part) is np.memmap
        return part.copy(), part.copy().copy(), self.held[[1, 5]], self.held[7]

    tree = one(tmp_path, use, held)
    assert tree[1] == ["read::numpy.memmap.copy"] * 2 + ["read::numpy.memmap[...]"]


def test_reads_of_a_thread_pool_in_the_training_process_are_recorded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(9))

    def read_both(path: Path) -> Any:
        return path.read_bytes(), np.load(path).sum()

    def use(self: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:  # one: see read_array
            return list(pool.map(read_both, [tmp_path / "x.npy"] * 6))

    ds = annotate.dataset(Reading(use))
    seen = names(record(tmp_path / "run", lambda: ds[0]))
    assert seen["decode::numpy.load"] == seen["read::pathlib.read_bytes"] == 6
    assert not switch.sampling


def read_array(path: str) -> np.ndarray[Any, Any]:
    """Not `np.load`: ast.literal_eval, which it calls, fails now and then in two threads of CPython 3.11."""
    return np.fromfile(path, np.int64)


class InPool:
    """Reads in a thread pool."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        with ThreadPoolExecutor(2) as pool:
            return torch.tensor([array.sum() for array in pool.map(read_array, [self.path] * 2)])


def test_reads_of_a_thread_pool_in_a_worker_are_recorded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(9))
    ds: Any = InPool(str(tmp_path / "x.npy"))
    loader = annotate.loader(DataLoader(ds, batch_size=4, num_workers=1))
    trace, _ = run(tmp_path / "run", loader)
    reads = [event for event in trace["traceEvents"] if event.get("name") == "read::numpy.fromfile"]
    assert len(reads) == 2 * 16
    assert all(event["pid"] not in (os.getpid(), event["tid"]) for event in reads)


def read_blob(path: str) -> bytes:
    return pathlib.Path(path).read_bytes()


class Store:
    """A storage of the user's own."""

    def get(self, path: str) -> np.ndarray[Any, Any]:
        return np.frombuffer(read_blob(path), np.uint8)


class Blobs:
    def __init__(self, path: str) -> None:
        self.path = path
        self.store = Store()

    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self.store.get(self.path).sum().item())


@pytest.fixture
def blobs(tmp_path: Path) -> Any:
    (tmp_path / "x").write_bytes(b"abc" * 3000)
    annotate.register_reader(read_blob)
    annotate.register_reader(Store.get, kind="decode", label="store")
    return Blobs(str(tmp_path / "x"))


def test_a_registered_reader_is_recorded_and_put_back(blobs: Any, tmp_path: Path) -> None:
    before = (read_blob, Store.get)
    annotate.dataset(blobs)
    (tree,) = trees(record(tmp_path / "run", lambda: blobs[0]))
    assert tree == ("sample::Blobs", [("decode::store", [f"read::{__name__}.read_blob"])])
    assert before == (read_blob, Store.get)


def test_the_users_label_counts_for_a_library_function_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_registered", {})
    np.save(tmp_path / "x.npy", np.arange(9))
    annotate.register_reader(np.load, kind="read", label="features")
    assert one(tmp_path, lambda self: np.load(tmp_path / "x.npy")) == ("sample::Reading", ["read::features"])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_registered_reader_is_recorded_in_workers(method: str, blobs: Any, tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(blobs, batch_size=4, num_workers=1, multiprocessing_context=method))
    trace, _ = run(tmp_path / "run", loader)
    (spans,) = worker_spans(trace).values()
    seen = {span["name"] for span in spans}
    assert {"decode::store", f"read::{__name__}.read_blob"} <= seen


@pytest.mark.parametrize(
    ("target", "keywords", "error", "says"),
    [
        ("mylib.read", {"kind": "sample"}, ValueError, "kind is one of read, decode, transform"),
        ("mylib.read", {"kind": 3}, ValueError, "not 3"),
        ("read_blob", {}, ValueError, "not a dotted path"),
        ("json.lads", {}, ValueError, "the module json has no 'lads'"),
        ("json.decoder", {}, TypeError, "takes a function"),
        (42, {}, TypeError, "takes a function or its dotted path, not 42"),
        (Store, {}, TypeError, "takes a function"),
        (lambda path: path, {}, ValueError, "cannot find"),
    ],
)
def test_what_cannot_be_registered_is_said_in_one_line(
    target: Any, keywords: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        annotate.register_reader(target, **keywords)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("annotate.register_reader")


def test_a_reader_may_be_registered_before_its_module_is_imported() -> None:
    annotate.register_reader("no_such_module_yet.read", kind="read")
