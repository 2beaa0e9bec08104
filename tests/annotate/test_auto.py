"""`annotate.auto`: every DataLoader that is iterated is followed, whatever makes its iterators."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_standing import ALL, BATCH, Numbers, cpu, loop, read, stages
from torch.utils.data import DataLoader
from worker_helpers import consumed

import annotate
from annotate.capture import standing


def joined(items: list[int]) -> list[int]:
    return items


class Through(DataLoader[int]):
    def __iter__(self) -> Any:
        return super().__iter__()


class Lazy(DataLoader[int]):
    def __iter__(self) -> Any:
        yield from super().__iter__()


class OwnIterator(DataLoader[int]):
    def __iter__(self) -> Any:
        return self._get_iterator()


class OwnBoth(DataLoader[int]):
    def _get_iterator(self) -> Any:
        from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

        return (_MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter)(self)

    def __iter__(self) -> Any:
        return self._get_iterator()


class Forever:
    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield from iter(self.sampler)


class Infinite(DataLoader[int]):
    """As ultralytics has it: one iterator for all epochs, made with the loader."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        object.__setattr__(self, "batch_sampler", Forever(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)  # type: ignore[union-attr]

    def __iter__(self) -> Any:
        for _ in range(len(self)):
            yield next(self.iterator)


KINDS = (DataLoader, Through, Lazy, OwnIterator, OwnBoth, Infinite)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_every_class_has_spans_and_numbered_batches(tmp_path: Path, kind: Any, workers: int) -> None:
    annotate.auto()
    loader = kind(Numbers(), batch_size=BATCH, num_workers=workers, collate_fn=joined)
    with cpu() as prof:
        seen = list(loader)
    assert seen == ALL
    assert loader.collate_fn is joined
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = read(tmp_path / "trace.json")
    found = stages(trace)
    more = workers * 2 if kind is Infinite else 0  # prefetched: before the profiler begins, and of the next epoch
    assert len(ALL) - more <= found["collate::joined"] <= len(ALL) + more, "once per batch"
    assert found["sample::Numbers"] >= (len(ALL) - more) * BATCH
    assert trace["dataPipeline"]["notes"] == []
    assert trace["dataPipeline"]["loaders"][0]["name"] == kind.__name__
    if workers:
        assert [batch["batch"] for batch in consumed(trace)][:24] == list(range(24))
        assert {batch["epoch"] for batch in consumed(trace)} == {0}


def test_a_class_that_is_made_later(tmp_path: Path) -> None:
    annotate.auto()

    class Later(OwnBoth):
        def __iter__(self) -> Any:
            return super().__iter__()

    with cpu() as prof:
        list(Later(Numbers(), batch_size=BATCH, collate_fn=joined))
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert stages(read(tmp_path / "trace.json"))["collate::joined"] == len(ALL)


def test_loaders_that_are_left_out(tmp_path: Path) -> None:
    left_out: DataLoader[int] = DataLoader(Numbers(), batch_size=BATCH, num_workers=1)
    followed: DataLoader[int] = DataLoader(Numbers(), batch_size=3, num_workers=1)
    annotate.auto(skip=[left_out])
    with cpu() as prof:
        assert loop(left_out) == ALL
        loop(followed)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    record = read(tmp_path / "trace.json")["dataPipeline"]
    assert [loader["batch_size"] for loader in record["loaders"]] == [3]
    assert len({worker["pid"] for worker in record["workers"]}) == 1


def test_it_takes_dataloaders() -> None:
    with pytest.raises(TypeError, match=r"annotate\.auto\(skip=\[\.\.\.\]\) takes DataLoaders, not 5 \(int\)\. Pass"):
        annotate.auto(skip=[5])


def test_a_new_loader_for_each_epoch_leaves_little_behind() -> None:
    annotate.auto()
    for _ in range(20):
        loop(DataLoader(Numbers(8), batch_size=BATCH))
    ours = standing.current()
    assert ours is not None
    assert ours.workers.loaders.alive() == []
    assert len(ours.workers.batches.epochs) <= 64
    assert not ours.workers.batches.kept


def test_off_ends_it() -> None:
    annotate.auto()
    annotate.off()
    loader: DataLoader[int] = DataLoader(Numbers(8), batch_size=BATCH, num_workers=1)
    begin = time.perf_counter()
    loop(loader)
    assert time.perf_counter() > begin
    assert standing.current() is None
