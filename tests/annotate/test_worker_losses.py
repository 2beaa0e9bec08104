"""Whatever is lost, what had been recorded up to then is in the trace, and nothing stays behind."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from capture_helpers import load, record_all
from torch.utils.data import DataLoader
from worker_helpers import (
    Books,
    as_tensor,
    batches_of,
    check_nesting,
    check_order,
    consumed,
    raises_and_lets_go,
    run,
    worker_spans,
)

import annotate
from annotate.options import WorkerLimits
from annotate.workers import spool, worker_side
from annotate.workers.content import Place
from tests.support import warm

HERE = Path(__file__).parent


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for temporary files of the test's own; ours must have gone from it in the end.

    Not in `tmp_path`: torch's sockets lie in it, and the path of a socket has at most 107 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def ours(folder: Path) -> list[Path]:
    return list(folder.glob("annotate-*"))


class Killed(Books):
    def __getitem__(self, index: int) -> list[int]:
        if index == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


class Raising(Books):
    def __getitem__(self, index: int) -> list[int]:
        if index == 13:
            raise LookupError("number 13")
        return super().__getitem__(index)


@pytest.fixture(autouse=True)
def _no_loader_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What raised keeps its DataLoader in a ring of references, and captures of later tests would list it. After an
    exception torch waits for each persistent worker for 5 s, with us and without.
    """
    yield
    monkeypatch.setattr("torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL", 0.1)
    gc.collect()


def last_trace(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.gz")
    return load(path)


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [(Killed(), RuntimeError, r"DataLoader worker \(pid.*\d+\) "), (Raising(), LookupError, "Caught LookupError in")],
)
@pytest.mark.parametrize("persistent", [True, False])
def test_a_worker_that_dies_or_raises(
    dataset: Books, error: type[Exception], message: str, persistent: bool, tmp_path: Path, temporary: Path
) -> None:
    loader = DataLoader(
        dataset, batch_size=2, num_workers=2, collate_fn=as_tensor, persistent_workers=persistent, prefetch_factor=1
    )
    annotate.loader(loader)
    done = []
    with raises_and_lets_go(error, message), annotate.profile(tmp_path / "run", schedule=record_all) as prof:
        for batch in loader:
            done.append(batch[:, 0].tolist())
            prof.step()
    trace = last_trace(tmp_path / "run")
    check_order(trace)
    check_nesting(trace)
    assert len(done) >= 4
    by_batch = [
        [
            s["args"]["index"]
            for s in spans
            if s["name"].startswith("sample::") and s["args"]["batch"] == record["batch"]
        ]
        for record in consumed(trace)
        for spans in [worker_spans(trace).get(record["pid"], [])]
        if record["worker"] is not None
    ]
    assert by_batch[: len(done)] == done
    assert ours(temporary) == []
    if dataset.__class__ is Raising:
        raised = [b for b in batches_of(trace) if b["batch"] == 6]
        assert [b["finished_us"] for b in raised] == [None]


def test_the_next_batches_after_one_that_raised(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Raising(), batch_size=2, num_workers=2, collate_fn=as_tensor))
    done: list[int] = []
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        iterator = iter(loader)
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            except LookupError:
                continue
            done.append(int(batch[0][0]) // 2)
            prof.step()
    trace = load(prof.trace_files[0])
    assert done == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
    assert [record["batch"] for record in consumed(trace)] == list(range(12))
    check_order(trace)


STATE_BYTES = 32


class DiskFull:
    """A worker_init_fn after which our third chunk, and all later ones, find no space."""

    def __call__(self, worker: int) -> None:
        write, calls = os.write, [0]

        def full(file: int, data: bytes) -> int:
            if len(data) == STATE_BYTES:  # written again in its place
                return write(file, data)
            calls[0] += 1
            if calls[0] > 4:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(file, data)

        os.write = full  # type: ignore[assignment]


class CutOff:
    """A worker_init_fn after which files may have 1000 bytes."""

    def __call__(self, worker: int) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize("init", [DiskFull(), CutOff()])
def test_a_full_disk(init: Any, tmp_path: Path, temporary: Path) -> None:
    loader = annotate.loader(
        DataLoader(Books(), batch_size=2, num_workers=2, collate_fn=as_tensor, worker_init_fn=init)
    )
    trace, seen = run(tmp_path / "run", loader)
    assert [batch.indices for batch in seen] == [[i, i + 1] for i in range(0, 24, 2)]
    assert trace["dataPipeline"]["dropped_spans"] > 0
    records = consumed(trace)
    assert [record["batch"] for record in records] == list(range(12))
    assert all(record["finished_us"] is not None for record in records)
    spans = [span for spans in worker_spans(trace).values() for span in spans]
    assert {span["args"]["batch"] for span in spans} >= {0, 1}
    check_order(trace)
    check_nesting(trace)
    assert ours(temporary) == []


def test_what_a_full_disk_takes_in_the_middle_of_a_batch_is_counted(tmp_path: Path) -> None:
    """Its recording is over by the time that the batch leaves."""
    loader = annotate.loader(
        DataLoader(Books(), batch_size=24, num_workers=1, collate_fn=as_tensor, worker_init_fn=CutOff())
    )
    trace, _ = run(tmp_path, loader, workers=WorkerLimits(buffered_spans=5))
    assert trace["dataPipeline"]["dropped_spans"] > 0


def test_a_limit_of_the_spool_drops_and_counts(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Books(), batch_size=2, num_workers=1, collate_fn=as_tensor))
    trace, _ = run(tmp_path, loader, workers=WorkerLimits(spool_bytes=1000))
    kept = sum(map(len, worker_spans(trace).values()))
    assert kept > 0
    assert trace["dataPipeline"]["dropped_spans"] + kept == 12 * (2 * 3 + 1)


def test_many_spans_are_written_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Books(), batch_size=24, num_workers=1, collate_fn=as_tensor))
    trace, _ = run(tmp_path, loader, workers=WorkerLimits(buffered_spans=5))
    (spans,) = worker_spans(trace).values()
    assert len(spans) == 24 * 3 + 1
    check_nesting(trace)


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    loader = annotate.loader(DataLoader(Books(), batch_size=2, num_workers=2, collate_fn=list))
    with (
        pytest.warns(RuntimeWarning, match="no data from.*temporary files.*missing.*Set TMPDIR"),
        annotate.profile(tmp_path / "run", schedule=record_all) as prof,
    ):
        assert len(list(prof.steps(loader))) == 12
    trace = load(prof.trace_files[0])
    assert "no data from the DataLoader workers" in trace["dataPipeline"]["notes"][0]
    assert trace["dataPipeline"]["workers"] == []


SCRIPT = """
import os, signal, sys
sys.path.insert(0, {here!r})
from torch.utils.data import DataLoader
from torch.utils.data._utils import worker
from worker_helpers import Books, as_tensor
from capture_helpers import record_all
import annotate

if __name__ == "__main__":
    worker.MP_STATUS_CHECK_INTERVAL = 0.5  # how often workers look whether they are alone
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    loader = annotate.loader(
        DataLoader(Books(), batch_size=2, num_workers=2, collate_fn=as_tensor, persistent_workers={persistent})
    )
    prof = annotate.profile({folder!r}, schedule=record_all)
    {body}
"""

BODIES = {
    "exit in the block": (
        "with prof:\n        for b in loader:\n            prof.step()\n            if b[0, 0] // 2 == 5: sys.exit(3)",
        3,
    ),
    "never closed": (
        "prof.__enter__()\n    for b in loader:\n        prof.step()\n        if b[0, 0] // 2 == 5: break",
        0,
    ),
    "ctrl-c": (
        "with prof:\n        for b in loader:\n            prof.step()\n"
        "            if b[0, 0] // 2 == 5: os.killpg(0, signal.SIGINT)",
        -signal.SIGINT,
    ),
}  # fmt: skip


def start(body: str, tmp_path: Path, temporary: Path, *, persistent: bool) -> warm.Program:
    script = tmp_path / "script.py"
    folder = str(tmp_path / "run")
    script.write_text(SCRIPT.format(here=str(HERE), body=body, folder=folder, persistent=persistent))
    return warm.start(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(HERE.parents[1])},
        stderr=subprocess.PIPE,
    )


@pytest.mark.one_of(2)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("persistent", [True, False])
def test_a_program_that_ends_early(body: str, persistent: bool, tmp_path: Path, temporary: Path) -> None:
    code, status = BODIES[body]
    process = start(code, tmp_path, temporary, persistent=persistent)
    _, errors = process.communicate(timeout=60)
    process.close()
    assert process.returncode == status, errors
    trace = last_trace(tmp_path / "run")
    check_order(trace)
    check_nesting(trace)
    assert [record["batch"] for record in consumed(trace)] == list(range(6))
    spans = [span for spans in worker_spans(trace).values() for span in spans]
    assert {span["args"]["batch"] for span in spans} >= set(range(6))
    assert ours(temporary) == []
    assert list((tmp_path / "run").glob(".*")) == []


def test_the_folder_of_a_killed_program_is_cleared_away_by_the_next(tmp_path: Path, temporary: Path) -> None:
    process = start(
        "with prof:\n        for b in loader:\n            os.kill(os.getpid(), signal.SIGKILL)",
        tmp_path,
        temporary,
        persistent=False,
    )
    assert process.stderr is not None
    process.stderr.close()  # its workers hold the other end until they notice
    assert process.wait(timeout=60) == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while ours(temporary):  # its last worker takes it away
        assert time.monotonic() < deadline


def test_a_ring_that_its_worker_takes_away_meanwhile_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    own = spool.Spool()
    try:
        (own.folder / "ring0-7.spans").write_bytes(b"x")
        gone = own.folder / "ring1-8.spans"
        monkeypatch.setattr(own, "files", lambda: [[own.folder / "ring0-7.spans"], [gone]])
        kept = own.keep()
        assert [[path.name for path in paths] for paths in kept.files()] == [["kept-ring0-7.spans"]]
    finally:
        own.remove()


def test_the_folder_that_nobody_took_away_is_cleared_away_by_the_next_program(temporary: Path) -> None:
    gone = temporary / "annotate-4194305-77-abcdefgh"  # above the largest process number
    users = [
        temporary / name for name in ("annotate-other", "annotate-4194305-77-mine", "annotate-4194305-77-abcdefgi")
    ]
    running = temporary / f"annotate-{os.getpid()}-{spool.start_time(os.getpid())}-abcdefgh"
    for folder in (gone, running, *users):
        folder.mkdir(mode=0o700)
    for name in ("control", "12.state", "1-12.spans"):
        (gone / name).touch()
    (users[2] / "thesis.spans").touch()
    own = spool.Spool()
    assert set(ours(temporary)) == {running, own.folder, *users}
    assert own.folder.stat().st_mode & 0o777 == 0o700
    (own.folder / "notes.txt").touch()
    own.remove()
    assert [path.name for path in own.folder.iterdir()] == ["notes.txt"], "of somebody else"


def test_a_cut_off_file_is_read_up_to_the_cut(tmp_path: Path) -> None:
    from annotate.trace.worker_files import read_worker_files

    file = spool.SpoolFile(str(tmp_path), 1, 1 << 20, {"loader": 0, "worker": 1, "pid": 2, "started": 3})
    file.write_names(["a", "b"], {"b": "user::b"})
    for batch in range(3):
        file.write_spans(spool.BatchHead(0, batch, 1, 2, *[-1] * 10), bytes(48))
    file.close()
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    counts = set()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        found = read_worker_files([path])
        counts.add(None if found is None else len(found.rows))
    assert counts == {None, 0, 2, 4, 6}
    assert found is not None
    assert found.names == ["a", "user::b"]
    assert found.ends == [2, 4, 6]


def test_nobody_waits_for_a_worker_that_hangs(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Hanging(), batch_size=2, num_workers=1, timeout=1, collate_fn=as_tensor))
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 1"):
        run(tmp_path, loader)
    assert time.monotonic() - begin < 20
    assert len(consumed(last_trace(tmp_path))) == 1


class Hanging(Books):
    def __getitem__(self, index: int) -> list[int]:
        if index == 2:
            time.sleep(3)
        return super().__getitem__(index)


@pytest.mark.parametrize("parents", [(7, 7), (7, 1)])
def test_a_worker_whose_program_died_while_our_hooks_went_in_ends(
    parents: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch compares a parent's pid with what it was when the worker's loop began, which is after our hooks."""
    seen: list[Any] = []
    left = iter(parents)
    monkeypatch.setattr(worker_side, "begin", lambda *place: seen.append(place))
    monkeypatch.setattr(worker_side, "send_faults_by", lambda way: None)
    monkeypatch.setattr(os, "getppid", lambda: next(left))
    init = worker_side.WorkerInit(seen.append, Place(training_process=-1, loader=0))
    if parents[0] == parents[1]:
        init(3)
    else:
        with pytest.raises(SystemExit) as ended:
            init(3)
        assert ended.value.code is None
    assert seen[0] == 3 and len(seen) == 2
