from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from capture_helpers import load, names, spans_of
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, get_worker_info

import annotate
from annotate import __main__ as command
from annotate.capture.replaying import HOW_IT_DIFFERS
from annotate.host import facts

SEEN: list[Any] = []


class Numbers(Dataset[int]):
    def __init__(self, size: int = 32) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        SEEN.append(int(index))
        return index


class Randoms(Numbers):
    def __getitem__(self, index: int) -> Any:
        return torch.rand(()), torch.tensor(random.random()), torch.tensor(np.random.rand())


class Sharded(IterableDataset[int]):
    start = 0

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        assert info is not None
        assert torch.get_num_threads() == 1
        for i in range(self.start + info.id, 40, info.num_workers):
            SEEN.append(i)
            yield i


class InPlace(Sampler[int]):
    """Shuffles its own list in place, with generators of its own."""

    def __init__(self) -> None:
        self.order = list(range(16))
        self.rng = random.Random(4)
        self.array = np.arange(4)
        self.numpy = np.random.default_rng(1)
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        self.epoch += 1
        self.rng.shuffle(self.order)
        self.numpy.shuffle(self.array)
        return iter(self.order)

    def __len__(self) -> int:
        return 16


def init_worker(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    SEEN.append(("init", worker, info.id, info.num_workers, info.seed, type(info.dataset).__name__))
    ds: Any = info.dataset
    ds.start = 4


def make_loader() -> Any:
    return DataLoader(Numbers(8), batch_size=4)


def make_empty() -> Any:
    return DataLoader(Numbers(8), batch_sampler=[])


@pytest.fixture(autouse=True)
def forget() -> None:
    SEEN.clear()


def rng_state() -> tuple[Any, ...]:
    return (torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state()))


@pytest.mark.parametrize("generator", [None, 7])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_order_is_the_one_that_the_loader_would_give_next(
    generator: int | None, workers: int, tmp_path: Path
) -> None:
    keywords: dict[str, Any] = {"batch_size": 4, "shuffle": True, "num_workers": workers}
    if generator is not None:
        keywords["generator"] = torch.Generator().manual_seed(generator)
    loader = DataLoader(Numbers(), **keywords)
    list(loader)
    SEEN.clear()
    before = rng_state()
    annotate.replay(loader, tmp_path, 3, progress=False)
    replayed = list(SEEN)
    assert rng_state() == before
    assert replayed == [i for batch in list(loader)[:3] for i in batch.tolist()]


def test_a_sampler_that_changes_itself_is_put_back(tmp_path: Path) -> None:
    sampler = InPlace()
    loader = DataLoader(Numbers(16), batch_size=4, sampler=sampler)
    annotate.replay(loader, tmp_path, 4, progress=False)
    replayed = list(SEEN)
    assert sampler.epoch == 0
    assert sampler.order == list(range(16))
    assert sampler.array.tolist() == [0, 1, 2, 3]
    assert replayed == [i for batch in loader for i in batch.tolist()]


def test_random_numbers_are_those_of_worker_0(tmp_path: Path) -> None:
    loader = DataLoader(Randoms(), batch_size=4, num_workers=1)
    collected: list[Any] = []

    def keep(batch: Any) -> Any:
        made = torch.utils.data.default_collate(batch)
        collected.append(torch.stack([part.double() for part in made]))
        return made

    expected = [torch.stack([part.double() for part in batch]) for batch in loader]
    torch.manual_seed(0)
    loader.collate_fn = keep
    annotate.replay(loader, tmp_path, 2, progress=False)
    assert torch.equal(torch.stack(collected), torch.stack(expected[:2]))


def test_an_iterable_dataset_gives_the_shard_of_worker_0_after_its_init(tmp_path: Path) -> None:
    loader = DataLoader(Sharded(), batch_size=2, num_workers=4, worker_init_fn=init_worker)
    path = annotate.replay(loader, tmp_path, 3, progress=False)
    assert SEEN[0][:4] == ("init", 0, 0, 4)
    assert SEEN[0][5] == "Sharded"
    assert SEEN[1:] == [4, 8, 12, 16, 20, 24]
    ds: Any = loader.dataset
    assert ds.start == 0
    counts = names(spans_of(load(path)))
    assert counts["sample::Sharded"] == 6
    assert get_worker_info() is None


def test_settings_that_zero_workers_refuse_are_dropped_and_the_loader_stays_as_it_is(tmp_path: Path) -> None:
    loader = DataLoader(
        Numbers(), batch_size=4, num_workers=2, prefetch_factor=4, persistent_workers=True, timeout=5,
        multiprocessing_context="spawn",
    )  # fmt: skip
    before = dict(vars(loader))
    threads = torch.get_num_threads()
    path = annotate.replay(loader, tmp_path, 2, progress=False)
    assert vars(loader) == before
    assert torch.get_num_threads() == threads
    metadata = load(path)["dataPipeline"]
    assert metadata["mode"] == "replay"
    assert metadata["notes"] == [
        HOW_IT_DIFFERS,
        "Left out, because it has no meaning here: "
        "prefetch_factor, persistent_workers, multiprocessing_context, timeout.",
    ]
    (described,) = metadata["loaders"]
    assert described["num_workers"] == 2
    assert described["prefetch_factor"] == 4
    assert described["start_method"] == "spawn"


@pytest.mark.parametrize(("asked", "given"), [(3, 3), (16, 8)])
def test_each_batch_is_a_step_and_the_first_wait_is_told_apart(asked: int, given: int, tmp_path: Path) -> None:
    path = annotate.replay(DataLoader(Numbers(), batch_size=4), tmp_path, asked, progress=False)
    trace = load(path)
    steps = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#") and e.get("ph") == "X"]
    assert len(steps) == given
    counts = names(spans_of(trace))
    assert counts["wait::DataLoader (first batch)"] == 1
    assert counts["wait::DataLoader"] == given - 1
    assert counts["collate::default_collate"] == given
    assert [str(file) for file in tmp_path.iterdir()] == [path]


def test_single_items_and_lists_of_batches_are_replayed(tmp_path: Path) -> None:
    annotate.replay(DataLoader(Numbers(), batch_size=None), tmp_path, 3, progress=False)
    assert SEEN == [0, 1, 2]
    SEEN.clear()
    annotate.replay(DataLoader(Numbers(), batch_sampler=[[5, 1], [7]]), tmp_path, 3, progress=False)
    assert SEEN == [5, 1, 7]


def test_bad_input_is_refused_clearly(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gives no batch"):
        annotate.replay(make_empty(), tmp_path, progress=False)
    with pytest.raises(ValueError, match="at least 1"):
        annotate.replay(make_loader(), tmp_path, 0)
    with pytest.raises(TypeError, match="not a list, which has no dataset"):
        annotate.replay([1], tmp_path)

    class Empty(IterableDataset[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(())

    with pytest.raises(ValueError, match="gives no batch"):
        annotate.replay(DataLoader(Empty()), tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_the_datasets_own_error_passes_unchanged(tmp_path: Path) -> None:
    error = KeyError("mine")

    class Broken(Numbers):
        def __getitem__(self, index: int) -> int:
            raise error

    before = rng_state()
    with pytest.raises(KeyError) as caught:
        annotate.replay(DataLoader(Broken(), shuffle=True), tmp_path, progress=False)
    assert caught.value is error
    assert rng_state() == before


def test_progress_says_how_a_replay_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotate.replay(make_loader(), tmp_path)
    assert HOW_IT_DIFFERS in capsys.readouterr().err


# the command line


@pytest.mark.parametrize("target", ["make_loader", "LOADER"])
def test_the_command_replays_a_function_or_a_loader(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "LOADER", make_loader(), raising=False)
    assert command.main(["replay", f"{__name__}:{target}", "--logdir", str(tmp_path), "--batches", "1"]) == 0
    assert Path(capsys.readouterr().out.strip()).exists()


@pytest.mark.parametrize(
    ("target", "status", "line"),
    [
        (f"{__name__}:make_empty", 1, "gives no batch"),
        (f"{__name__}:nothing", 2, "has no 'nothing'"),
        ("no_such_module:x", 2, "there is no module 'no_such_module'"),
        ("no colon", 2, "write package.module:name"),
        (f"{__name__}:rng_state", 2, "is not a DataLoader but a tuple"),
        (f"{__name__}:init_worker", 2, "TypeError"),
    ],
)
def test_the_commands_errors_are_one_line(
    target: str, status: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["replay", target, "--logdir", str(tmp_path)]) == status
    errors = capsys.readouterr().err
    assert line in errors
    assert errors.count("\n") == 1


def test_the_tightest_cgroup_quota_counts(tmp_path: Path) -> None:
    assert facts.cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert facts.cpu_quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert facts.cpu_quota(tmp_path) == 1.5
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("50000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert facts.cpu_quota(tmp_path) == 0.5
