"""The monitor's lines, from real loaders, against what the dataset planted."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import annotate
from annotate.monitoring import lines
from annotate.monitoring import monitor as watching
from annotate.recording import switch
from annotate.workers import following
from tests.support import warm

READ, DECODE, TRANSFORM, COLLATE, OTHER = 0.002, 0.003, 0.004, 0.010, 0.001
"""Seconds: of a sample, `COLLATE` of a batch."""
BATCH = 4
SIZE = 40
LATE = 0.001
"""Seconds that a batch's naps of one kind may differ from what is measured around them."""


@pytest.fixture(autouse=True)
def a_failed_test_fails_alone() -> Iterator[None]:
    yield
    for one in list(watching._monitors.values()):
        one.stop()
        following.remove(one)
    watching._monitors.clear()


def nap(seconds: float) -> int:
    """Sleep, and spin for the last bit: a sleep alone is always late. Returns the nanoseconds that it took."""
    begin = time.perf_counter_ns()
    time.sleep(max(0.0, seconds - 0.001))
    while time.perf_counter_ns() < begin + seconds * 1e9:
        pass
    return time.perf_counter_ns() - begin


class Work:
    def __call__(self, row: list[int]) -> list[int]:
        return [*row, nap(TRANSFORM)]


class Planted(Dataset[list[int]]):
    """Items are index, pid of the maker, and nanoseconds: of reading, decoding, other work and transforming."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.transform = Work()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> list[int]:
        assert type(index) is int
        with annotate.stage("read", "nap"):
            read = nap(READ)
            with annotate.stage("decode", "nap"):
                decode = nap(DECODE)
        other = nap(OTHER)
        return self.transform([index, os.getpid(), read, decode, other])


class Stream(IterableDataset[list[int]]):
    def __init__(self) -> None:
        self.items = Planted()
        self.transform = self.items.transform

    def __iter__(self) -> Iterator[list[int]]:
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, self.items.size, step):
            yield self.items[index]


class Quick(Dataset[int]):
    def __init__(self, size: int = 64, seconds: float = 0) -> None:
        self.size = size
        self.seconds = seconds

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        if self.seconds and index % 3 == 0:
            time.sleep(self.seconds)
        if index == self.size:
            raise ValueError("no such item")
        return index


def collate(rows: list[list[int]]) -> torch.Tensor:
    took = nap(COLLATE)
    return torch.tensor([[*row, took if number == 0 else 0] for number, row in enumerate(rows)])


class Line(NamedTuple):
    loader: str
    name: str
    worker: str
    pid: int
    epoch: int
    batch: int
    first: str
    times: list[float]
    transfer: str
    wait: float
    step: float


def parse(text: str) -> list[Line]:
    """The lines under the header; every one of them as wide as its columns."""
    above, header, *rows = text.splitlines()
    assert (above, header) == lines.HEADER
    table = []
    for row in rows:
        assert len(row) <= 100
        assert row.index("|") == header.index("|")
        left, _, right = row.partition("|")
        number, name, worker, pid, epoch, batch, first, *times, transfer = left.split()
        wait, step, share = right.split()
        seconds = [float(time) / 1000 for time in times]
        line = Line(
            number, name, worker, int(pid), int(epoch), int(batch), first, seconds, transfer,
            float(wait) / 1000, float(step) / 1000,
        )  # fmt: skip
        assert line.wait <= line.step
        assert line.step < 0.001 or float(share[:-1]) == pytest.approx(100 * line.wait / line.step, abs=2)
        table.append(line)
    return table


def truth(batch: torch.Tensor) -> list[float]:
    """Seconds that the naps of a batch took by their own clock, in the order of a line."""
    read, decode, other, transform, collating = (batch[:, 2:].sum(0) / 1e9).tolist()
    return [read, decode, transform, collating, other]


def check_planted(lines: list[Line], seen: list[tuple[int, torch.Tensor]]) -> None:
    """The times of lines are those of batches of their epoch. A machine that is busy may come between two clocks, so
    this holds for most lines; other time than that of stages has all that the machine takes as well."""
    errors = []
    for line in lines:
        true = [truth(batch) for epoch, batch in seen if epoch == line.epoch]
        errors.append(min(max(abs(x - y) for x, y in zip(line.times[:-1], each[:-1], strict=True)) for each in true))
        assert line.times[-1] >= min(each[-1] for each in true)
    assert median(errors) < LATE


def watch(loader: Any, every: int, epochs: int = 1, step: float = 0.0) -> tuple[list[Line], list[tuple[int, Any]]]:
    """The lines of some epochs, and the batches with their epoch."""
    out = io.StringIO()
    seen = []
    assert annotate.monitor(loader, every=every, file=out) is loader
    try:
        for epoch in range(epochs):
            for batch in loader:
                nap(step)
                seen.append((epoch, batch))
    finally:
        annotate.monitor(loader, every=0)
    return parse(out.getvalue()), seen


METHODS = [(0, None, False), (2, "fork", False), (2, "fork", True), (1, "spawn", True), (1, "forkserver", False)]
"""One worker where each takes seconds to start: several are tried with fork."""


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("workers", "method", "persistent"), METHODS)
@pytest.mark.parametrize("kind", [Planted, Stream])
def test_every_stage_is_measured(kind: Any, workers: int, method: str | None, persistent: bool) -> None:
    loader = DataLoader(
        kind(),
        batch_size=BATCH,
        collate_fn=collate,
        num_workers=workers,
        multiprocessing_context=method,
        persistent_workers=persistent,
    )
    lines, seen = watch(loader, every=2, epochs=2)
    assert len(lines) == len(seen) // 2
    by_first = {(epoch, int(rows[0, 0])): rows for epoch, rows in seen}
    for line in lines:
        if kind is Planted:
            rows = by_first[line.epoch, int(line.first)]
            assert line.batch * BATCH == int(line.first)
            assert line.pid == int(rows[0, 1])
        assert line.worker == ("main" if workers == 0 else str(int(line.worker)))
        assert (line.transfer == "-") == (workers == 0)
    check_planted(lines, seen)
    assert len({line.worker for line in lines}) == max(1, workers)


def test_data_wait_and_step_without_workers() -> None:
    lines, seen = watch(DataLoader(Planted(), batch_size=BATCH, collate_fn=collate), every=2, step=0.05)
    assert len(lines) == 5
    made = [sum(truth(batch)) for _, batch in seen]
    assert min(made) <= min(line.wait for line in lines) <= max(made) + 0.02
    assert min(line.step - line.wait for line in lines[1:]) >= 0.049  # times are rounded as they are printed


@pytest.mark.alone
def test_a_batch_that_lies_ready_is_not_in_transfer() -> None:
    loader = DataLoader(Quick(), batch_size=4, num_workers=2)
    lines, _ = watch(loader, every=4, step=0.05)
    lines = lines[1:]
    assert min(float(line.transfer) for line in lines) < 30
    assert min(line.wait for line in lines) < 0.03
    assert min(line.step for line in lines) >= 0.049


def test_numbers_are_true_out_of_order() -> None:
    loader = DataLoader(Quick(120, 0.004), batch_size=2, num_workers=3, in_order=False, shuffle=True)
    sampler = Recorded(loader.batch_sampler)
    loader = DataLoader(loader.dataset, batch_sampler=sampler, num_workers=3, in_order=False)
    lines, seen = watch(loader, every=1, epochs=2)
    assert len(lines) == len(seen) == 120
    for line, (epoch, batch) in zip(lines, seen, strict=True):
        assert line.epoch == epoch
        assert sampler.epochs[epoch][line.batch] == batch.tolist()
        assert int(line.first) == batch[0]
    assert [line.batch for line in lines] != [*range(60), *range(60)], "nothing overtook anything: no test"


class Recorded:
    """A batch sampler that remembers what it drew."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.epochs: list[list[list[int]]] = []

    def __iter__(self) -> Iterator[list[int]]:
        drawn: list[list[int]] = []
        self.epochs.append(drawn)
        for indices in self.sampler:
            drawn.append(indices)
            yield indices

    def __len__(self) -> int:
        return len(self.sampler)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_results_order_and_random_numbers_are_unchanged(workers: int, persistent: bool) -> None:
    def epochs(every: int) -> tuple[list[Any], Any]:
        torch.manual_seed(3)
        loader = DataLoader(
            Quick(), batch_size=4, shuffle=True, num_workers=workers, persistent_workers=persistent and workers > 0
        )
        attributes = {key: value for key, value in vars(loader).items() if key != "_iterator"}
        annotate.monitor(loader, every=every, file=io.StringIO())
        batches = [batch.tolist() for _ in range(2) for batch in loader]
        assert type(loader) is DataLoader
        assert {key: value for key, value in vars(loader).items() if key != "_iterator"} == attributes
        annotate.monitor(loader, every=0)
        return batches, torch.rand(3).tolist()

    assert epochs(3) == epochs(0)


def test_iterators_keep_class_and_length() -> None:
    loader = DataLoader(Quick(), batch_size=4)
    plain = iter(loader)
    annotate.monitor(loader, every=3, file=io.StringIO())
    watched = iter(loader)
    assert watched.__class__ is type(plain)
    assert isinstance(watched, type(plain))
    assert len(watched) == 16
    annotate.monitor(loader, every=0)
    assert type(watched) is type(plain)
    assert [batch.tolist() for batch in watched] == [batch.tolist() for batch in plain]


def test_a_line_per_so_many_batches_over_epochs() -> None:
    lines, _ = watch(DataLoader(Quick(24), batch_size=4), every=4, epochs=4)
    assert len(lines) == 6
    assert [divmod(line.epoch * 6 + line.batch, 4)[0] for line in lines] == list(range(6))


def test_nothing_is_printed_when_off(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANNOTATE_MONITOR", raising=False)
    before = DataLoader.__iter__
    loader = annotate.loader(DataLoader(Quick(), batch_size=4, num_workers=1))
    list(loader)
    annotate.monitor(loader, every=2)
    annotate.monitor(loader, every=0)
    annotate.monitor(loader, every=0)
    annotate.off()
    assert DataLoader.__iter__ is before
    list(loader)
    assert capfd.readouterr() == ("", "")


def test_other_loaders_have_no_lines(capfd: pytest.CaptureFixture[str]) -> None:
    loader = annotate.monitor(DataLoader(Quick(), batch_size=4), every=2)
    list(DataLoader(Quick(), batch_size=4))
    assert capfd.readouterr().err == ""
    list(loader)
    assert len(parse(capfd.readouterr().err)) == 8
    annotate.monitor(loader, every=0)


def test_a_loader_that_is_gone_leaves_nothing() -> None:
    before = DataLoader.__iter__
    annotate.monitor(DataLoader(Quick(), batch_size=4), every=2)
    assert DataLoader.__iter__ is before
    assert not watching._monitors


@pytest.mark.parametrize(("value", "lines"), [("1", 6), ("4", 16), ("0", 0), ("", 0)])
def test_the_environment_variable(
    value: str, lines: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANNOTATE_MONITOR", value)
    loader = annotate.loader(annotate.loader(DataLoader(Quick(), batch_size=1)))
    monkeypatch.delenv("ANNOTATE_MONITOR")
    list(loader)
    annotate.monitor(loader, every=0)
    err = capfd.readouterr().err
    assert len(parse(err) if err else []) == lines


def test_a_bad_environment_variable_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANNOTATE_MONITOR", "often")
    list(annotate.loader(DataLoader(Quick(), batch_size=4)))
    (line,) = capfd.readouterr().err.splitlines()
    assert "ANNOTATE_MONITOR" in line
    assert "'often'" in line


@pytest.mark.parametrize("every", [-1, 1.5, "10", True, None])
def test_every_is_a_number_of_batches(every: Any) -> None:
    with pytest.raises(ValueError, match=r"^annotate\.monitor: every must be .*$"):
        annotate.monitor(DataLoader(Quick()), every=every)


def test_arguments_of_other_types() -> None:
    with pytest.raises(TypeError, match="takes a torch DataLoader, not a list"):
        annotate.monitor([1])
    with pytest.raises(TypeError, match="file must be open"):
        annotate.monitor(DataLoader(Quick()), file="lines.txt")  # type: ignore[arg-type]


def test_a_file_that_takes_no_lines_does_not_stop_the_training() -> None:
    file = io.StringIO()
    file.close()
    loader = annotate.monitor(DataLoader(Quick(), batch_size=4), every=2, file=file)
    assert len(list(loader)) == 16
    annotate.monitor(loader, every=0)


def profile_one_epoch(loader: Any, folder: Path) -> dict[str, Any]:
    with annotate.profile(folder, wait=0, warmup=1, active=6) as prof:
        for _ in prof.steps(loader):
            pass
    return load(prof.trace_files[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_capture_pauses_the_lines(workers: int, tmp_path: Path) -> None:
    out = io.StringIO()
    loader = DataLoader(Planted(), batch_size=BATCH, collate_fn=collate, num_workers=workers)
    annotate.monitor(loader, every=2, file=out)
    list(loader)
    before = out.getvalue()
    trace = profile_one_epoch(loader, tmp_path)
    annotate.replay(loader, tmp_path / "replay", batches=2, progress=False)
    assert out.getvalue() == before
    names = {event["name"] for event in trace["traceEvents"]}
    assert {"read::nap", "decode::nap", "transform::Work", "collate::collate"} <= names
    assert trace["dataPipeline"]["notes"] == []
    assert {worker["loader"] for worker in trace["dataPipeline"]["workers"]} == ({0} if workers else set())
    seen = [(1, batch) for batch in loader]
    lines = parse(out.getvalue())
    assert len(lines) == 10
    assert {line.epoch for line in lines} == {0, 1}
    check_planted(lines[5:], seen)
    annotate.monitor(loader, every=0)


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore:.*no data from.*:RuntimeWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_capture_in_the_middle_of_an_epoch(workers: int, tmp_path: Path) -> None:
    out = io.StringIO()
    loader = annotate.monitor(DataLoader(Quick(), batch_size=2, num_workers=workers), every=4, file=out)
    iterator = iter(loader)
    batches = [next(iterator).tolist() for _ in range(8)]
    before = out.getvalue()
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for _ in range(8):
            batches.append(next(iterator).tolist())
            time.sleep(0.1)
            prof.step()
    assert out.getvalue() == before
    batches += [batch.tolist() for batch in iterator]
    annotate.monitor(loader, every=0)
    assert batches == [[2 * number, 2 * number + 1] for number in range(32)]
    lines = parse(out.getvalue())
    assert [line.batch // 4 for line in lines] == [0, 1, 4, 5, 6, 7]
    assert max(line.step for line in lines[2:]) < 0.09, "the capture's steps count"


def test_on_and_off_inside_a_capture(tmp_path: Path) -> None:
    first, second = (DataLoader(Quick(), batch_size=4) for _ in range(2))
    out = io.StringIO()
    annotate.monitor(first, every=2)
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        annotate.monitor(first, every=0)
        annotate.monitor(second, every=2, file=out)
        for _ in prof.steps(second):
            pass
    assert out.getvalue() == ""
    list(second)
    assert len(parse(out.getvalue())) == 8
    annotate.monitor(second, every=0)


def test_persistent_workers_that_ran_before() -> None:
    loader = DataLoader(Quick(), batch_size=4, num_workers=1, persistent_workers=True)
    list(loader)
    out = io.StringIO()
    annotate.monitor(loader, every=4, file=out)
    list(loader)
    annotate.monitor(loader, every=0)
    note, above, header, *rows = out.getvalue().splitlines()
    assert "persistent workers were started before" in note
    assert (above, header) == lines.HEADER
    assert len(rows) == 4
    for row in rows:
        assert row.index("|") == header.index("|")
        assert "%" in row


def test_persistent_workers_watched_again() -> None:
    loader = DataLoader(Quick(), batch_size=4, num_workers=1, persistent_workers=True)
    for _ in range(2):
        lines, _ = watch(loader, every=2)
        assert len(lines) == 8
        list(loader)


def test_a_dataset_that_raises() -> None:
    out = io.StringIO()
    loader = DataLoader(Quick(5), batch_sampler=[[0, 1], [5], [2, 3], [4]], num_workers=1)
    annotate.monitor(loader, every=1, file=out)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(ValueError, match="no such item"):
        next(iterator)
    assert [batch.tolist() for batch in iterator] == [[2, 3], [4]]
    annotate.monitor(loader, every=0)
    assert [line.batch for line in parse(out.getvalue())] == [0, 2, 3]
    assert not switch.RECORDING


def test_a_dataset_that_raises_without_workers() -> None:
    loader = annotate.monitor(DataLoader(Quick(5), sampler=[0, 5]), every=1, file=io.StringIO())
    with pytest.raises(ValueError, match="no such item"):
        list(loader)
    annotate.monitor(loader, every=0)
    assert not switch.RECORDING
    assert switch.recorder is switch.TORCH_MARKERS


INDICES: list[tuple[Callable[[], Any], str]] = [
    (lambda: DataLoader(Quick(), batch_size=None, sampler=[7, 8]), "7"),
    (lambda: DataLoader(Quick(), batch_sampler=[torch.tensor([5, 6]).tolist(), [1]]), "5"),
    (lambda: DataLoader({"a": 1, "b": 2}, batch_size=None, sampler=["a", "b"]), "a"),  # type: ignore[arg-type]
    (lambda: DataLoader(Stream(), batch_size=2, collate_fn=list), "-"),
]


@pytest.mark.parametrize(("make", "first"), INDICES)
def test_the_first_index(make: Callable[[], Any], first: str) -> None:
    lines, _ = watch(make(), every=1)
    assert lines[0].first == first


def test_a_loader_that_a_framework_rebuilt(capfd: pytest.CaptureFixture[str]) -> None:
    loader = annotate.monitor(annotate.loader(DataLoader(Quick(), batch_size=4)), every=4)
    rebuilt = DataLoader(loader.dataset, batch_size=2, collate_fn=loader.collate_fn)
    list(rebuilt)
    assert len(parse(capfd.readouterr().err)) == 8
    annotate.monitor(loader, every=0)
    annotate.monitor(rebuilt, every=0)


SCRIPT = """
import annotate
from torch.utils.data import DataLoader
if __name__ == "__main__":
    for _ in annotate.loader(DataLoader(range(64), batch_size=2, num_workers=1, multiprocessing_context="spawn")):
        pass
"""


def test_a_program_with_the_variable(tmp_path: Path) -> None:
    """Nothing but the lines is printed, and the program ends as it would."""
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    found = warm.run([sys.executable, str(path)], env={**os.environ, "ANNOTATE_MONITOR": "8"})
    assert (found.returncode, found.stdout) == (0, "")
    ours = [line for line in found.stderr.splitlines() if "resource_tracker" not in line]  # CPython's, with spawn
    assert len(parse("\n".join(ours))) == 4
