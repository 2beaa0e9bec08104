"""fastai's DataLoader, by a module of its shape: it hands torch's iterators an object that stands in for a loader."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from capture_helpers import load
from torch.utils.data.dataloader import _DatasetKind, _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from worker_helpers import worker_spans

import annotate
from annotate.capture import standing
from annotate.hooks.fastai_loaders import MODULE

BATCHES, SIZE = 6, 2


def stand_in_hook(worker: int) -> None:
    """As fastai's ``worker_init_fn``."""


class Squares:
    def __len__(self) -> int:
        return BATCHES * SIZE

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index**2)


class _FakeLoader:
    _IterableDataset_len_called, _auto_collation, drop_last, in_order = None, False, False, True
    _index_sampler, generator, prefetch_factor = itertools.count(), None, 2
    dataset_kind = _dataset_kind = _DatasetKind.Iterable
    pin_memory, pin_memory_device, timeout, persistent_workers, multiprocessing_context = False, "", 0, False, None
    worker_init_fn = staticmethod(stand_in_hook)

    def __init__(self, d: Any, num_workers: int) -> None:
        self.dataset, self.d, self.num_workers = self, d, num_workers

    def _get_shared_seed(self) -> None:
        return None

    def collate_fn(self, batch: Any) -> Any:
        return batch

    def __iter__(self) -> Iterator[Any]:
        return iter(self.d.create_batches())


class DataLoader:
    drop_last = False

    def __init__(self, dataset: Any, num_workers: int) -> None:
        self.dataset, self.bs, self.fake_l = dataset, SIZE, _FakeLoader(self, num_workers)

    def __len__(self) -> int:
        return BATCHES

    def __iter__(self) -> Iterator[Any]:
        yield from sys.modules[MODULE]._loaders[self.fake_l.num_workers == 0](self.fake_l)

    def create_batches(self) -> Iterator[Any]:
        for first in range(0, BATCHES * SIZE, SIZE):
            yield self.do_batch([self.do_item(first + number) for number in range(SIZE)])

    def do_item(self, s: int) -> Any:
        return self.dataset[s]

    def do_batch(self, b: list[Any]) -> Any:
        return torch.stack(b)


ORIGINALS = (_MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter)


@pytest.fixture(autouse=True)
def fastai(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType(MODULE)
    vars(module).update(DataLoader=DataLoader, _FakeLoader=_FakeLoader, _loaders=ORIGINALS)
    for cls in (DataLoader, _FakeLoader):
        monkeypatch.setattr(cls, "__module__", MODULE)
    monkeypatch.setitem(sys.modules, MODULE, module)
    return module


@pytest.mark.parametrize("workers", [0, 1])
def test_items_batches_and_the_wait_are_recorded_and_the_batches_are_the_same(
    workers: int, fastai: ModuleType, tmp_path: Path
) -> None:
    loader = DataLoader(Squares(), workers)
    plain = [batch.tolist() for batch in loader]
    assert annotate.loader(loader) is loader
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        assert [batch.tolist() for batch in prof.steps(loader)] == plain
    trace = load(prof.trace_files[-1])
    (settings,) = (each for each in trace["dataPipeline"]["loaders"] if each["stepped"])
    assert (settings["name"], settings["dataset"], settings["batch_size"]) == ("DataLoader", "Squares", SIZE)
    assert settings["num_workers"] == workers
    names = {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"}
    assert {"sample::Squares", "collate::fa_collate", "wait::DataLoader"} <= names
    if workers:
        (spans,) = worker_spans(trace).values()
        assert {span["args"]["index"] for span in spans if span["name"] == "sample::Squares"} >= {4, 5, 6, 7}
        assert trace["dataPipeline"]["batches"]["batch"]
    annotate.off()
    assert fastai._loaders == ORIGINALS
    assert vars(loader.fake_l).keys() == {"dataset", "d", "num_workers"}


def test_every_loader_is_followed_but_those_that_are_left_alone() -> None:
    left_alone = DataLoader(Squares(), 0)
    annotate.auto(skip=[left_alone])
    try:
        assert len(list(DataLoader(Squares(), 0))) == len(list(left_alone)) == BATCHES
        stands = standing.current()
        assert stands is not None
        assert [settings["name"] for settings in stands.workers.loaders.settings] == ["DataLoader"]
    finally:
        annotate.off()
