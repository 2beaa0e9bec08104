"""Which iterable datasets are seen to give each DataLoader worker a part of their own; none of their code is run."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data
from torch.utils.data import ChainDataset, DataLoader, IterableDataset, get_worker_info

from annotate.hooks.dividing import is_divided, is_drawn
from annotate.hooks.loaders import describe, time_loader, undivided
from annotate.hooks.patching import Patches
from annotate.tuning.rebuilding import ThreadsInWorkers
from annotate.workers.worker_side import WorkerInit


class Plain(IterableDataset[int]):
    """Raises whenever it is asked anything."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("its code ran")

    def __len__(self) -> int:
        raise AssertionError("its code ran")

    @property
    def files(self) -> list[str]:
        raise AssertionError("its code ran")


class Asking(Plain):
    def __iter__(self) -> Iterator[int]:
        info = torch.utils.data.get_worker_info()
        yield 0 if info is None else info.id


def mine(rows: list[int]) -> list[int]:
    info = get_worker_info()
    return rows if info is None else rows[info.id :: info.num_workers]


class ByHelper(Plain):
    def rows(self) -> Iterator[int]:
        yield from (row for row in mine([1, 2]))


class Around(Plain):
    def __init__(self, inner: object) -> None:
        self.inner = inner


def seeds(worker: int) -> None:
    torch.manual_seed(worker)


def cuts(worker: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.first = worker  # type: ignore[attr-defined]


def shard(of: str, worker: int) -> None:
    cuts(worker)


@pytest.mark.parametrize(
    "dataset",
    [Asking(), ByHelper(), Around(Asking()), Around([Asking()]), Around(partial(mine, [1])), ChainDataset([Asking()])],
    ids=lambda dataset: type(dataset).__name__,
)
def test_code_that_asks_for_the_worker_divides(dataset: Any) -> None:
    assert is_divided(DataLoader(dataset))


def test_what_is_shared_between_workers_divides() -> None:
    assert is_divided(DataLoader(Around(multiprocessing.Queue())))


def test_what_asks_for_nothing_does_not() -> None:
    for dataset in (Plain(), Around(Plain()), Around([1, "get"]), ChainDataset([Plain()])):
        assert not is_divided(DataLoader(dataset))


@pytest.mark.parametrize(
    ("init", "divides"),
    [(None, False), (seeds, False), (cuts, True), (partial(shard, "x"), True), (lambda worker: 0, False)],
)
def test_an_init_function_divides_where_it_sees_the_dataset(init: Any, divides: bool) -> None:
    assert is_divided(DataLoader(Plain(), worker_init_fn=init)) is divides
    if init is not None:
        assert is_divided(DataLoader(Plain(), worker_init_fn=ThreadsInWorkers(1, init))) is divides
        stand_in = WorkerInit(init, None)  # type: ignore[arg-type]
        assert is_divided(DataLoader(Plain(), worker_init_fn=stand_in)) is divides


def test_a_librarys_own_dataset_may_be_divided_where_nobody_looks() -> None:
    installed = type("Installed", (Plain,), {"__module__": "pytest"})
    loader: DataLoader[int] = DataLoader(installed())
    assert is_divided(loader) is None
    assert "divided" not in describe(loader) and undivided(loader) == ""
    assert undivided(DataLoader(Plain())) == "Plain"


def test_a_proxy_is_not_asked() -> None:
    class Proxy:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError("its code ran")

    assert is_divided(DataLoader(Around([Proxy()]))) is False


def test_a_capture_says_so_of_iterable_datasets_alone() -> None:
    assert describe(DataLoader(Plain()))["divided"] is False
    assert describe(DataLoader(Asking()))["divided"] is True
    assert "divided" not in describe(DataLoader([1, 2]))  # type: ignore[arg-type]


class Buffer:
    def sample(self) -> list[int]:
        return [random.choice([1, 2])]


class Drawing(Plain):
    """Its buffer draws."""

    def __init__(self) -> None:
        self.buffer = Buffer()

    def __iter__(self) -> Iterator[int]:
        while True:
            with memoryview(b""):
                drawn = self.buffer.sample()
            yield from drawn


class PassingOn(Drawing):
    def __iter__(self) -> Iterator[int]:
        return self.rows()

    def rows(self) -> Iterator[int]:
        while True:
            yield random.randrange(3)


class YieldingFrom(PassingOn):
    def __iter__(self) -> Iterator[int]:
        yield from self.rows()


class Ending(Drawing):
    def __iter__(self) -> Iterator[int]:
        for _ in range(10):
            yield from self.buffer.sample()


class Left(Drawing):
    def __iter__(self) -> Iterator[int]:
        while True:
            if not (drawn := self.buffer.sample()):
                break
            yield from drawn


class Shuffling(Plain):
    """Goes through its files again and again."""

    def __iter__(self) -> Iterator[int]:
        rows = [1, 2]
        while True:
            random.shuffle(rows)
            yield from rows


class Unused(Plain):
    """Makes a generator, and draws nothing from it."""

    def __iter__(self) -> Iterator[int]:
        state, other = random.Random(5), np.random.default_rng(5)
        while True:
            sample = "sample"
            yield len((state, other, sample))


class Augmenting(Plain):
    """Draws how an item is changed, and goes through its items in their order."""

    def __iter__(self) -> Iterator[int]:
        while True:
            for row in (1, 2):
                yield row if random.random() < 0.5 else -row


class Parts(Plain):
    """Each worker goes through its own part."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        rows = [1, 2, 3] if info is None else [1, 2, 3][info.id :: info.num_workers]
        while True:
            yield random.choice(rows)


class Seeded(Plain):
    """Each worker draws from all of it, with a seed of its own."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        state = random.Random(info.seed if info else 0)
        while True:
            yield state.choice([1, 2])


class Again(Plain):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield from (1, 2)


@pytest.mark.parametrize("dataset", [Drawing(), PassingOn(), YieldingFrom()], ids=lambda each: type(each).__name__)
def test_what_draws_at_random_without_an_end_is_drawn(dataset: Any) -> None:
    loader: DataLoader[int] = DataLoader(dataset)
    assert is_drawn(loader) is True and describe(loader)["drawn"] is True
    assert describe(loader)["divided"] is False and undivided(loader) == ""


@pytest.mark.parametrize(
    "dataset", [Ending(), Left(), Shuffling(), Unused(), Augmenting()], ids=lambda each: type(each).__name__
)
def test_what_draws_may_still_go_through_a_fixed_set_of_items(dataset: Any) -> None:
    assert is_drawn(DataLoader(dataset)) is None and "drawn" not in describe(DataLoader(dataset))
    assert undivided(DataLoader(dataset)) == type(dataset).__name__


def test_what_asks_for_a_seed_alone_draws_and_what_goes_through_a_part_does_not() -> None:
    assert is_drawn(DataLoader(Seeded())) is True
    assert is_drawn(DataLoader(Parts())) is False and is_divided(DataLoader(Parts())) is True


def test_what_does_not_draw_has_a_fixed_set_of_items() -> None:
    for dataset in (Plain(), Again(), Around([1]), Around(Asking())):
        assert is_drawn(DataLoader(dataset)) is False
    assert is_drawn(DataLoader(type("Installed", (Plain,), {"__module__": "pytest"})())) is None


def test_what_is_followed_during_a_capture_is_looked_at_behind_that() -> None:
    patches, loader = Patches(), DataLoader(Drawing())
    time_loader(patches, loader, collating=True)
    try:
        assert is_drawn(loader) is True
    finally:
        patches.undo()
