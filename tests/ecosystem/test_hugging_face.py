"""Functions that datasets of Hugging Face call for each sample are stages by their own names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from torch.utils.data import DataLoader

from tests.ecosystem.observe import harmless, recorded


def enlarge(batch: Any) -> Any:
    return {"x": [x * 2 for x in batch["x"]]}


def shift(row: Any) -> Any:
    return {"x": row["x"] + 1}


def is_even(row: Any) -> bool:
    return bool(row["x"] % 2 == 0)


def rows() -> Iterator[dict[str, int]]:
    for x in range(48):
        yield {"x": x}


def transformed(workers: int) -> Any:
    made = datasets.Dataset.from_list(list(rows())).with_transform(enlarge)
    return DataLoader(made, batch_size=4, num_workers=workers)


def formatted(workers: int) -> Any:
    made = datasets.Dataset.from_list(list(rows()))
    made.set_format("custom", transform=enlarge)
    return DataLoader(made, batch_size=4, num_workers=workers)


def streamed(workers: int) -> Any:
    made = datasets.IterableDataset.from_generator(rows).map(shift).filter(is_even).with_format("torch")
    return DataLoader(made, batch_size=4, num_workers=workers)


CASES: dict[str, tuple[Callable[[int], Any], tuple[str, ...]]] = {
    "with_transform": (transformed, ("transform::enlarge",)),
    "set_format": (formatted, ("transform::enlarge",)),
    "stream": (streamed, ("transform::shift",)),
}


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_its_functions_are_stages_and_its_batches_are_the_same(name: str, workers: int, tmp_path: Path) -> None:
    make, stages = CASES[name]

    def loader() -> Any:
        return make(workers)

    recorded(harmless(loader, "steps", tmp_path), *stages)
