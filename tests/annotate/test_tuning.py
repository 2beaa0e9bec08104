"""What `tb-dataplugin tune` runs beside the user's code: a loader made again, windows of it, and the whole once."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, get_worker_info

from annotate.loop_windows import LEAST, SETTLING, Delivered, batch_bytes
from annotate.tuning import openblas
from annotate.tuning.rebuilding import NotTunable, ThreadsInWorkers, not_the_same, rebuilt, settings_of
from annotate.tuning.serving import _facts, one_line
from annotate.tuning.windows import KEPT, Epochs, Step, loaderless_window, recorded_window, same_window, timed_window
from tb_dataplugin.cli import main
from tb_dataplugin.tune.running import CannotRun, Facts, Limits, Loop, Window
from tb_dataplugin.tune.search import Search
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import Changes
from tb_dataplugin.tune.tuning import diff

ROOT = Path(__file__).resolve().parents[2]


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(10))


def doubled(batch: list[int]) -> list[int]:
    return [2 * number for number in batch]


def loaders() -> dict[str, DataLoader[Any]]:
    return {
        "shuffled": DataLoader(Numbers(), 3, shuffle=True, drop_last=True, collate_fn=doubled),
        "batch sampler": DataLoader(Numbers(), batch_sampler=BatchSampler(SequentialSampler(range(10)), 4, False)),
        "unbatched": DataLoader(Numbers(), batch_size=None),
        "iterable": DataLoader(Stream(), batch_size=4),
        "iterable, unbatched": DataLoader(Stream(), batch_size=None, collate_fn=str),
    }


@pytest.mark.parametrize("name", loaders())
def test_a_loader_made_again_gives_the_same_batches(name: str) -> None:
    loader = loaders()[name]
    again = rebuilt(loader, {"pin_memory": False, "in_order": False})
    assert again is not loader
    torch.manual_seed(4)
    expected = list(map(str, loader))
    torch.manual_seed(4)
    assert list(map(str, again)) == expected
    assert again.in_order is False


def test_settings_come_and_go_with_workers() -> None:
    loader = DataLoader(Numbers(), 2, worker_init_fn=print)
    four = rebuilt(loader, {"num_workers": 4, "prefetch_factor": 3, "threads_per_worker": 1})
    assert (four.num_workers, four.prefetch_factor) == (4, 3)
    assert pickle.loads(pickle.dumps(four.worker_init_fn)) == ThreadsInWorkers(1, print)
    none = rebuilt(four, {"num_workers": 0})
    assert (none.num_workers, none.prefetch_factor, none.persistent_workers) == (0, None, False)
    spawning = DataLoader(Numbers(), 2, num_workers=1, multiprocessing_context="spawn")
    assert settings_of(spawning)["multiprocessing_context"] == "spawn"
    assert rebuilt(spawning, {"prefetch_factor": 4}).multiprocessing_context.get_start_method() == "spawn"


def test_without_a_change_the_loader_is_the_users_own() -> None:
    loader = DataLoader(Numbers())
    assert rebuilt(loader, {}) is loader
    with pytest.raises(NotTunable, match="list is not a torch DataLoader: it has no dataset"):
        rebuilt([1, 2], {})


def test_a_class_with_its_own_init_is_made_again_as_a_plain_loader_and_said() -> None:
    class Own(DataLoader[int]):
        def __init__(self) -> None:
            super().__init__(Numbers(), 2)

    assert "Own has an __init__ of its own" in not_the_same(Own())
    assert list(rebuilt(Own(), {"in_order": False}).sampler) == list(range(10))
    assert not_the_same(DataLoader(Numbers())) == ""


def test_the_users_init_function_is_called_too(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    monkeypatch.setattr(torch, "set_num_threads", called.append)
    monkeypatch.setattr(openblas, "set_threads", lambda _: None)
    ThreadsInWorkers(3, called.append)(7)
    assert called == [3, 7]


def test_threads_in_workers_are_those_of_numpy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = openblas.get_threads()
    if not before:
        pytest.skip("numpy has no OpenBLAS of its own here")
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    try:
        for threads in (2, 1):
            ThreadsInWorkers(threads, None)(0)
            assert set(openblas.get_threads()) == {threads}
    finally:
        openblas.set_threads(max(before))


def test_a_window_counts_batches_and_epochs() -> None:
    window = timed_window(DataLoader(Numbers(), 2), Step(), 0.001)
    assert window["batches"] >= 1
    assert window["epochs"] == (SETTLING + window["batches"] - 1) // 5 - (SETTLING - 1) // 5
    assert 0 < window["wait"] <= window["total"]
    assert window["batch_bytes"] == 16
    assert LEAST > 0


class Watched(Numbers):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __getitem__(self, index: int) -> int:
        self.asked.append(index)
        return index


@pytest.mark.parametrize("generator", [None, torch.Generator()])
def test_windows_of_the_same_samples_have_the_same_samples(generator: torch.Generator | None) -> None:
    dataset = Watched()
    loader = DataLoader(dataset, 2, shuffle=True, generator=generator)
    asked = []
    for _ in range(2):
        dataset.asked.clear()
        window = same_window(loader, Step(), 5.0, count=7)
        assert window["batches"] == 7
        asked.append(list(dataset.asked))
    assert asked[0] == asked[1] and len(asked[0]) >= 2 * (SETTLING + 7)


def test_without_its_loader_a_loop_gets_batches_that_are_there() -> None:
    dataset = Watched()
    steps: list[Any] = []
    window = loaderless_window(DataLoader(dataset, 2), Counted(steps), 50)
    assert window["batches"] == 50 and len(steps) == KEPT + 50
    assert len(dataset.asked) == 2 * KEPT


class Counted(Step):
    """Steps by their batches."""

    def __init__(self, steps: list[Any]) -> None:
        super().__init__()
        object.__setattr__(self, "_steps", steps)

    def __call__(self, batch: Any) -> None:
        self._steps.append(batch)  # type: ignore[attr-defined]


def test_a_loader_without_batches_is_one_line() -> None:
    with pytest.raises(NotTunable, match="gives no batch"):
        next(iter(Epochs(DataLoader(Stream(), batch_size=20, drop_last=True))))


def test_bytes_of_a_batch_are_those_of_its_tensors() -> None:
    batch = {"x": torch.zeros(3, 4), "y": [torch.zeros(2, dtype=torch.int64), b"abc", "no"]}
    assert batch_bytes(batch) == 48 + 16 + 3


def test_a_step_takes_its_time_and_copies_what_a_batch_holds() -> None:
    copied: list[tuple[str, bool]] = []

    class Batch:
        def to(self, device: str, non_blocking: bool) -> None:
            copied.append((device, non_blocking))

    step = Step(ms=2.0, cpu=0.5, device="cpu")
    began = time.perf_counter()
    step({"x": Batch(), "y": [Batch(), "text", (Batch(),)]})
    assert time.perf_counter() - began >= 0.002
    step.finish()
    assert copied == [("cpu", True)] * 3


PROGRAM = """
import sys, time
from torch.utils.data import DataLoader, Dataset

print("printed by the module")


class Slow(Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        time.sleep(0.005)
        return index


def make_loader():
    return DataLoader(Slow(), batch_size=1)
"""
assert PROGRAM.splitlines()[16] == "def make_loader():"


@pytest.fixture
def pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipe.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@dataclass
class Timed:
    """A real loop, that is said to take the time that it would on a machine of its own."""

    loop: Loop
    step_s: float

    def window(self) -> Window:
        return replace(self.loop.window(), batches=100, total=100 * self.step_s, wait=90 * self.step_s)

    def close(self) -> None:
        self.loop.close()


@dataclass
class OnAnIdleMachine:
    """Runs real loops: only their times are made up, so that a busy machine does not decide."""

    program: Program

    def start(self, changes: Changes) -> Timed:
        return Timed(self.program.start(changes), 0.002 if changes.get("num_workers") else 0.005)


def test_a_real_loader_gets_workers_and_a_diff(pipe: Path) -> None:
    program = OnAnIdleMachine(Program("pipe:make_loader", seconds=0.05))
    facts = Facts(made={"num_workers": 0}, cpus=2, file=str(pipe / "pipe.py"), line=17)
    limits = Limits(runs=2, pairs=3, tried=("num_workers",))
    outcome = Search(program, facts, None, limits, lambda line: None).run()
    (row,) = outcome.rows
    assert row.kept, row
    assert outcome.total == row.ratio
    workers = row.changes.get("num_workers")
    assert f"+    return DataLoader(Slow(), batch_size=1, num_workers={workers})" in diff(facts, outcome.best)


def test_what_reading_and_loading_add_is_measured_with_the_real_loader(
    pipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (pipe / "data.bin").write_bytes(b"x" * 5000)
    arguments = ["--files", str(pipe / "data.bin"), "--rounds", "2", "--seconds", "0.05", "--step-ms", "1"]
    assert main(["differential", "pipe:make_loader", *arguments, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["steps"]["memory"]["step_us"]["value"] < answer["steps"]["warm"]["step_us"]["value"]
    assert answer["loading_us"]["value"] > 4000  # a sample sleeps for 5 ms
    assert ("cold" in answer["steps"]) == ("reading_us" in answer)


def test_a_loader_that_cannot_be_made_is_one_line(pipe: Path) -> None:
    (pipe / "broken.py").write_text("def make_loader():\n    raise ValueError('no data here')\n")
    with pytest.raises(CannotRun, match=r"^ValueError: no data here$"):
        Program("broken:make_loader").start(Changes())
    with pytest.raises(CannotRun, match="there is no module 'nowhere'"):
        Program("nowhere:make_loader").start(Changes())


def test_errors_are_one_line() -> None:
    report = "Caught ValueError.\nOriginal Traceback (most recent call last):\n  x\nValueError: bad\nand more"
    assert one_line(RuntimeError(report)) == "ValueError: bad and more (in a DataLoader worker)"
    assert one_line(OSError("a\n b")) == "OSError: a b"
    assert one_line(NotTunable("no batch")) == "no batch"
    assert one_line(KeyError()) == "KeyError"


def test_facts_say_where_the_loader_is_made() -> None:
    facts = _facts(loaders, loaders()["iterable"], DataLoader(Numbers(), num_workers=2))
    assert Path(facts["file"]) == Path(__file__)
    assert facts["line"] == loaders.__code__.co_firstlineno
    assert facts["settings"]["num_workers"] == 0
    assert facts["made"]["num_workers"] == 2
    assert "in_order" in facts["takes"]
    assert facts["undivided"] == "Stream"
    assert _facts(loaders, loaders()["shuffled"], loaders()["shuffled"])["undivided"] == ""


class Divided(Stream):
    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        assert info is not None
        return iter(range(info.id, 10, info.num_workers))


def test_a_window_shows_whether_workers_deliver_the_same() -> None:
    again = timed_window(DataLoader(Stream(), 2, num_workers=2), Step(), 0.001, count=20)
    assert again["same"] and again["passed"] == 10
    divided = timed_window(DataLoader(Divided(), 2, num_workers=2), Step(), 0.001, count=20)
    assert not divided["same"] and divided["passed"] == 6
    with_indices = timed_window(DataLoader(Numbers(), 2, num_workers=2), Step(), 0.001, count=20)
    assert not with_indices["same"]


def test_what_cannot_be_compared_is_not_the_same() -> None:
    for batches in ([object()] * 4, [torch.zeros(2)] * 4, [torch.zeros(2), torch.ones(2)] * 2):
        delivered = Delivered(2)
        for batch in batches:
            delivered.saw(batch)
        assert not delivered.facts()["same"]
    delivered = Delivered(2)
    for number in (0, 0, 1, 1):
        delivered.saw({"x": torch.tensor([number]), "name": ["a"]})
    assert delivered.facts()["same"]


def test_the_first_window_can_be_captured(tmp_path: Path) -> None:
    path = recorded_window(DataLoader(Numbers(), 2), Step(), 4, str(tmp_path))
    assert Path(path).is_file()
