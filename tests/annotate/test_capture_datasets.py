from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import PIL.Image
import pytest
import torch
from capture_helpers import load, names, record, trees
from torch.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)

import annotate
from annotate.capture.session import Session


def plus_one(x: Any) -> Any:
    return x + 1


class Times:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by


class Numbers(Dataset[int]):
    def __init__(self, size: int = 12, transform: Any = None) -> None:
        self.size = size
        self.transform = transform

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> int:
        return index if self.transform is None else self.transform(index)


class Batched(Numbers):
    """Fetches a batch in one go, as Hugging Face datasets do."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return list(indices)


class OneByOne(Numbers):
    def __getitems__(self, indices: list[int]) -> list[int]:
        return [self[i] for i in indices]


class Switched(Numbers):
    __getitems__ = None


class Stream(IterableDataset[int]):
    closed = 0

    def __init__(self, size: int = 6, transform: Any = None) -> None:
        self.size = size
        self.transform = transform

    def __iter__(self) -> Iterator[int]:
        try:
            for i in range(self.size):
                yield i if self.transform is None else self.transform(i)
        finally:
            Stream.closed += 1


def batches(ds: Any, **keywords: Any) -> list[Any]:
    return [batch.tolist() for batch in DataLoader(ds, batch_size=3, **keywords)]


def sample_names(roots: list[Any]) -> dict[str, int]:
    return {name: count for name, count in names(roots).items() if name.startswith("sample")}


def test_a_dataset_is_the_same_object_and_type_before_during_and_after(tmp_path: Path) -> None:
    ds = Numbers(transform=annotate.compose([Times(2)]))
    assert annotate.dataset(ds) is ds
    assert type(ds) is Numbers
    results: list[Any] = []

    def code() -> None:
        assert type(ds) is Numbers
        assert isinstance(ds, Numbers)
        assert len(ds) == 12
        copy = pickle.loads(pickle.dumps(ds))
        assert type(copy) is Numbers
        assert type(copy.transform.transforms[0]) is Times
        results.extend(batches(ds))

    roots = record(tmp_path, code)
    assert results == batches(ds)
    assert sample_names(roots) == {"sample::Numbers": 12}
    assert trees(roots)[0] == ("sample::Numbers", [("transform::Compose", ["transform::Times"])])
    assert type(ds) is Numbers


def test_a_function_as_transform_is_timed_and_put_back(tmp_path: Path) -> None:
    ds = annotate.dataset(Numbers(transform=plus_one))
    roots = record(tmp_path, lambda: ds[0])
    assert trees(roots) == [("sample::Numbers", ["transform::plus_one"])]
    assert ds.transform is plus_one


def test_transforms_of_a_known_library_are_found_under_any_name(tmp_path: Path) -> None:
    from torchvision.transforms import v2

    class Own(Numbers):
        augment: Any

        def __getitem__(self, index: int) -> Any:
            return self.augment(torch.zeros(3, 8, 8))

    ds = annotate.dataset(Own())
    ds.augment = v2.Compose([v2.RandomHorizontalFlip(p=1)])
    roots = record(tmp_path, lambda: ds[0])
    assert trees(roots) == [("sample::Own", [("transform::Compose", ["transform::RandomHorizontalFlip"])])]


def test_torchvision_datasets_show_both_transforms(tmp_path: Path) -> None:
    from torchvision.datasets import FakeData
    from torchvision.transforms import v2

    ds = annotate.dataset(FakeData(4, (3, 8, 8), 10, transform=v2.PILToTensor(), target_transform=plus_one))
    roots = record(tmp_path, lambda: ds[0])
    assert trees(roots) == [("sample::FakeData", ["transform::PILToTensor", "transform::plus_one"])]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Subset(Numbers(transform=plus_one), range(6)), {"sample::Numbers": 6}),
        (lambda: ConcatDataset([Numbers(3), Numbers(3, plus_one)]), {"sample::Numbers": 6}),
        (lambda: ConcatDataset([Numbers(3), Switched(3)]), {"sample::ConcatDataset": 6}),
        (lambda: random_split(Numbers(12), [6, 6])[1], {"sample::Numbers": 6}),
        (lambda: Subset(Subset(ConcatDataset([Numbers(12)]), range(8)), range(6)), {"sample::Numbers": 6}),
        (lambda: ConcatDataset([Subset(Numbers(), [1, 2, 3]), Numbers(3)]), {"sample::Numbers": 6}),
        (lambda: Subset(Batched(), range(6)), {"sample::Batched.__getitems__": 2}),
        (lambda: Batched(6), {"sample::Batched.__getitems__": 2}),
        (lambda: StackDataset(Numbers(6), Numbers(6)), {"sample::StackDataset.__getitems__": 2}),
        (lambda: OneByOne(9), {"sample::OneByOne.__getitems__": 1, "sample::OneByOne": 6}),
        (lambda: Switched(6), {"sample::Switched": 6}),
        (lambda: TensorDataset(torch.arange(6)), {"sample::TensorDataset": 6}),
        (lambda: Stream(6), {"sample::Stream": 6}),  # the seventh call finds the end, and is none
        (lambda: ChainDataset([Stream(3), Stream(3)]), {"sample::ChainDataset": 6}),
    ],
)
def test_each_item_is_one_sample_named_by_the_outermost_that_does_more_than_choose(
    make: Any, expected: dict[str, int], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    plain = list(map(str, DataLoader(make(), batch_size=3)))
    torch.manual_seed(0)
    ds = annotate.dataset(make())
    results: list[str] = []
    roots = record(tmp_path, lambda: results.extend(map(str, DataLoader(ds, batch_size=3))))
    assert results == plain
    assert sample_names(roots) == expected
    assert all(not any(c.name.startswith("sample") for c in r.walk()[1:]) for r in roots)


def test_an_iterable_dataset_stays_one_and_its_generator_is_closed(tmp_path: Path) -> None:
    ds = annotate.dataset(Stream(5, transform=annotate.compose([Times(2)])))
    Stream.closed = 0

    def code() -> None:
        assert isinstance(ds, IterableDataset)
        loader = DataLoader(ds, batch_size=2)
        iterator = iter(loader)
        assert next(iterator).tolist() == [0, 2]
        inner = iter(ds)
        next(inner)
        inner.close()  # type: ignore[attr-defined]
        assert Stream.closed == 1
        del iterator, inner
        gc.collect()
        assert Stream.closed == 2

    roots = record(tmp_path, code)
    sample = ("sample::Stream", [("transform::Compose", ["transform::Times"])])
    assert trees(roots) == [sample, sample, "collate::default_collate", sample]


@pytest.mark.parametrize("data", [torch.arange(6), np.arange(6)])
def test_tensors_and_arrays_keep_their_class(data: Any, tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(data, batch_size=3))
    results: list[Any] = []

    def code() -> None:
        assert type(data) in (torch.Tensor, np.ndarray)
        results.extend(batch.tolist() for batch in loader)

    assert names(record(tmp_path, code)) == {"collate::default_collate": 2}
    assert results == [[0, 1, 2], [3, 4, 5]]


def test_a_list_as_dataset_is_left_alone_and_said_in_a_note(tmp_path: Path) -> None:
    data = [1, 2, 3, 4]
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        for _ in prof.steps(DataLoader(data, batch_size=1)):  # type: ignore[arg-type]
            pass
    assert type(data) is list
    assert load(prof.trace_files[0])["dataPipeline"]["notes"] == [
        "The dataset list could not be timed; its transforms still are."
    ]


def test_an_error_of_the_dataset_is_unchanged_and_undoes_nothing_else(tmp_path: Path) -> None:
    error = OSError("broken file")

    class Broken(Numbers):
        def __getitem__(self, index: int) -> int:
            raise error

    ds = annotate.dataset(Broken())
    with pytest.raises(OSError) as caught, annotate.profile(tmp_path, wait=0, warmup=1, active=1) as prof:
        for _ in prof.steps(DataLoader(ds)):
            pass
    assert caught.value is error
    assert type(ds) is Broken
    del caught
    error.__traceback__ = None  # it holds this frame: the dataset would live on, and later captures miss it


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.thorough)])
def test_workers_load_the_same_batches_during_a_session(method: str) -> None:
    ds = annotate.dataset(Numbers(6, transform=annotate.compose([Times(2), plus_one])))
    loader = DataLoader(
        ds, batch_size=3, num_workers=1, multiprocessing_context=method, collate_fn=annotate.collate(), timeout=60
    )
    session = Session()
    session.begin()
    try:
        assert type(ds) is Numbers
        assert [batch.tolist() for batch in loader] == [[1, 3, 5], [7, 9, 11]]
    finally:
        session.end()


class Loading(Numbers):
    """Holds functions of libraries, as ImageFolder(loader=...) does."""

    def __init__(self) -> None:
        super().__init__(3)
        self.loaders = (np.load, cv2.imread, PIL.Image.open, open)

    def __getitem__(self, index: int) -> int:
        assert self.loaders == (np.load, cv2.imread, PIL.Image.open, open)
        return index


@pytest.mark.parametrize("when", ["before the session", "during the session"])
def test_datasets_that_hold_library_functions_can_be_sent_to_spawned_workers(when: str) -> None:
    before = Loading()
    session = Session()
    session.begin()
    try:
        ds = annotate.dataset(before if when == "before the session" else Loading())
        if when == "during the session":
            assert pickle.loads(pickle.dumps(ds)).loaders[0] is np.load
        loader = DataLoader(ds, batch_size=3, num_workers=1, multiprocessing_context="spawn", timeout=60)
        assert [batch.tolist() for batch in loader] == [[0, 1, 2]]
        assert np.load is not before.loaders[0]
    finally:
        session.end()
