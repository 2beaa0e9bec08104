"""Workers that are threads: nothing travels to them, and the batches that the loop gets are counted all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import standing
from annotate.workers.batches import Batch, Iteration, TaggingIterator
from tests.harm.user_code import ThreadContext


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        return index


@pytest.fixture
def followed() -> Iterator[None]:
    annotate.auto()
    yield
    annotate.off()


class Counts:
    """A listener."""

    def __init__(self) -> None:
        self.drawn_first: list[int] = []
        self.handed_out: list[int] = []

    def drawn(self, batch: Batch, indices: object) -> None:
        self.drawn_first.append(batch.batch)

    def arrived(self, *facts: Any) -> None:
        raise AssertionError("nothing comes from a thread")

    def consumed(self, batch: Batch) -> None:
        self.handed_out.append(batch.batch)


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("iterable", [True, False])
def test_indices_stay_plain_and_each_batch_that_is_handed_out_is_told(in_order: bool, iterable: bool) -> None:
    iteration = Iteration(0, in_order=in_order, iterable=iterable, has_workers=True, in_threads=True)
    counts = Counts()
    iteration.listeners.append(counts)
    batches = TaggingIterator(iter([[0], [1], [2]]), iteration, None)

    def _process_data() -> object:  # the name of torch's own method, by which a draw for a batch is known
        return next(batches, "no more")

    first = [next(batches), next(batches)]
    iteration.is_starting = False
    assert [first, counts.handed_out] == [[[0], [1]], []]
    assert [_process_data(), _process_data(), _process_data()] == [[2], "no more", "no more"]
    assert all(type(indices) is list for indices in first)
    assert [counts.drawn_first, counts.handed_out] == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.usefixtures("followed")
def test_whoever_waits_for_a_turn_is_told_of_each_batch(persistent: bool) -> None:
    ours = standing.current()
    assert ours is not None
    loader = DataLoader(
        Numbers(),
        batch_size=2,
        num_workers=2,
        multiprocessing_context=ThreadContext(),
        persistent_workers=persistent,
    )
    turns: list[int] = []
    ours.workers.on_any_batch = lambda epoch: turns.append(epoch.epoch)
    seen = [[batch.tolist() for batch in loader] for _ in range(2)]
    assert seen == [torch.arange(12).view(6, 2).tolist()] * 2
    assert turns == [0] * 6 + [1] * 6
    assert [batch for batch in ours.workers.batches.kept if batch.worker is None] == []
