"""DataLoaders that hand out what their dataset gives, as it is (``batch_size=None``)."""

from __future__ import annotations

from typing import Any

import pytest
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler

from annotate.hooks.loaders import describe
from annotate.workers.batches import Iteration

ROWS: Any = list(range(12))


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(ROWS)


@pytest.mark.parametrize(
    ("loader", "is_whole"),
    [
        (DataLoader(ROWS, batch_size=None), True),
        (DataLoader(ROWS, batch_size=None, sampler=BatchSampler(RandomSampler(ROWS), 4, False)), True),
        (DataLoader(Stream(), batch_size=None), True),
        (DataLoader(ROWS, batch_size=4), False),
        (DataLoader(Stream(), batch_size=4), False),
        (DataLoader(ROWS, batch_sampler=[[1, 2], [3]]), False),
    ],
)
def test_a_loader_says_so(loader: DataLoader[Any], is_whole: bool) -> None:
    assert describe(loader).get("whole", False) is is_whole


@pytest.mark.parametrize(
    ("is_whole", "indices", "samples"),
    [(False, (1, 2), 2), (False, [1, 2], 2), (True, [1, 2], 2), (True, (1, 2), None), (True, 1, None)],
)
def test_a_tuple_may_be_the_index_of_one_sample(is_whole: bool, indices: object, samples: int | None) -> None:
    iteration = Iteration(0, in_order=True, iterable=False, has_workers=True, is_whole=is_whole)
    iteration.draw(indices, 0)
    assert iteration.outstanding[0].samples == samples
