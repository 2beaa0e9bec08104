"""What DataLoader workers tell a whole run of every batch, of which one in twenty is measured."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from struct import iter_unpack, pack
from time import perf_counter_ns, sleep
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, default_collate

import annotate
from annotate.recording import between, sums, switch
from annotate.whole_run import iterating
from annotate.whole_run.series import Series
from annotate.workers.transport import Facts

MS = 1_000_000


class Stalling(Dataset[torch.Tensor]):
    """One sample of the second batch stalls, which is not measured."""

    def __init__(self, clocks: Path, size: int = 96) -> None:
        self.clocks = clocks
        self.size = size
        self.began: list[int] = []

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> torch.Tensor:
        self.began.append(perf_counter_ns())
        sleep(0.4 if index == 6 else 0.002)
        return torch.tensor(index)

    def collate(self, rows: list[torch.Tensor]) -> Any:
        batch = default_collate(rows)
        with (self.clocks / str(os.getpid())).open("ab") as file:
            file.write(pack("<qq", self.began[0], perf_counter_ns()))
        self.began.clear()
        return batch

    def times(self) -> tuple[float, float, int]:
        """Microseconds of building, and of what lies between, by the dataset's own clock; batches."""
        build = waits = count = 0
        for path in self.clocks.iterdir():
            batches = list(iter_unpack("<qq", path.read_bytes()))
            build += sum(end - begin for begin, end in batches)
            waits += sum(after[0] - before[1] for before, after in pairwise(batches))
            count += len(batches)
        return build / 1e3, waits / 1e3, count


def numbers_of(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.watch.jsonl")
    lines = map(json.loads, path.read_text().splitlines())
    (interval,) = (line for line in lines if line["kind"] == "interval")
    (numbers,) = interval["loaders"]
    return dict(numbers)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_stall_that_no_measured_batch_has_is_in_the_times_of_all(tmp_path: Path, persistent: bool) -> None:
    (tmp_path / "clocks").mkdir()
    data = Stalling(tmp_path / "clocks")
    loader = DataLoader(data, batch_size=4, num_workers=2, persistent_workers=persistent, collate_fn=data.collate)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600, captures=0)
    for _ in range(2):
        for _ in loader:
            sleep(0.002)
    annotate.off()
    build, waits, batches = data.times()
    found = numbers_of(tmp_path)
    assert found["all_built"] == batches == 48
    assert found["all_build_us"] == pytest.approx(build, rel=0.1), "of which 0.8 s are the stalls"
    assert found["all_starved_us"] == pytest.approx(waits, rel=0.2)
    assert found["build_us"] / found["built"] < 0.7 * build / batches, "the measured batches have none of them"


def test_a_dataset_whose_samples_are_not_seen_says_nothing_of_all_batches(tmp_path: Path) -> None:
    numbers: Any = list(range(80))
    loader: DataLoader[int] = DataLoader(numbers, batch_size=2, num_workers=2)
    annotate.watch(loader, logdir=tmp_path, interval_s=3600, captures=0)
    assert len(list(loader)) == 40
    annotate.off()
    found = numbers_of(tmp_path)
    assert "all_built" not in found and found["built"] >= 1, "a part of them would be those of an epoch's start"


def test_a_long_batch_tells_of_itself_where_the_loop_leaves_the_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that end then have no other batch to tell with; none is measured here."""
    monkeypatch.setattr(iterating, "_GOLDEN", 0.0)
    monkeypatch.setattr(iterating, "_EVERY", 1_000)
    monkeypatch.setattr(between, "_TELLS_NS", 300 * MS)  # workers are forked
    (tmp_path / "clocks").mkdir()
    data = Stalling(tmp_path / "clocks")
    loader = DataLoader(
        data, batch_size=4, num_workers=2, collate_fn=data.collate, multiprocessing_context="fork", prefetch_factor=1
    )
    annotate.watch(loader, logdir=tmp_path, interval_s=3600, captures=0)
    for number, _ in enumerate(loader):
        if number == 6:
            break
    annotate.off()
    assert numbers_of(tmp_path)["all_build_us"] > 4e5


@pytest.fixture
def noticing(monkeypatch: pytest.MonkeyPatch) -> Any:
    unrecorded, failed = switch.unrecorded, switch.failed
    between.begin(lambda: (0, 0))
    yield
    switch.unrecorded, switch.failed = unrecorded, failed
    monkeypatch.setattr(between, "_thread", 0)
    monkeypatch.setattr(between, "_told", 0)


@pytest.mark.usefixtures("noticing")
def test_a_batch_begins_with_its_first_sample_and_what_a_window_saw_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter([100, 110, 120, 130, 500, 510, 999])
    monkeypatch.setattr(between, "clock", lambda: next(times))
    between.sample("sample::A", 0, int)
    between.sample("sample::A", 1, int)
    between.built(0, 150, before=60)
    between.sample("sample::A", 2, int)
    monkeypatch.setattr(switch, "RECORDING", True)
    between.built(480, 600, before=150)
    monkeypatch.setattr(switch, "RECORDING", False)
    between.built(700, 800, before=600)  # no sample was seen
    assert between.take()[3:] == (1, 50, 40)


@pytest.mark.usefixtures("noticing")
def test_a_measured_batch_begins_as_its_indices_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "recorder", sums.RECORDER)
    sums.start()
    sums.sample("sample::A", 0, int)
    between.built(100, 150, before=-1)
    sums.stop(0)
    assert between.take()[3:] == (1, 50, 0)


class Loaders:
    latest = None
    trouble = None


def test_the_wait_before_an_epochs_first_batch_is_added_once_its_worker_tells() -> None:
    series = Series(0, Loaders(), 4, None)  # type: ignore[arg-type]
    facts = Facts(1, 0, 0, 0, 7, 5, started=450 * MS, finished=470 * MS, before=100 * MS)
    series.first_of(facts, 130 * MS, 400 * MS)
    assert not series.take().all_starved_ns
    for starved in (80, 0):
        series.noticed(between.Noticed(3, {}, (), 1, 20 * MS, 0), 1, epoch=1, worker=0, pid=7)
        found = series.take()
        assert (found.all_built, found.all_build_ns, found.all_starved_ns) == (1, 20 * MS, starved * MS)
