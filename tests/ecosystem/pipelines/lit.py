"""litdata: an optimised dataset, streamed from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import litdata
import numpy as np

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, Slow, slow


def sample(index: int) -> dict[str, Any]:
    return {"index": index, "image": np.full((4, 4), index, dtype=np.float32)}


def optimised(folder: Path) -> str:
    where = folder / "optimised"
    if not where.exists():
        litdata.optimize(sample, list(range(SIZE)), str(where), chunk_size=SIZE // 4, num_workers=1)
    return str(where)


class Mine(litdata.StreamingDataset):  # type: ignore[misc]
    """As its documentation subclasses it."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.transform = Slow()

    def __getitem__(self, index: Any) -> Any:
        return self.transform(super().__getitem__(index)["image"])


def subclassed(folder: Path) -> Any:
    return litdata.StreamingDataLoader(Mine(optimised(folder)), batch_size=BATCH, num_workers=2)


def by_argument(folder: Path) -> Any:
    dataset = litdata.StreamingDataset(optimised(folder), transform=slow)
    return litdata.StreamingDataLoader(dataset, batch_size=BATCH, num_workers=2)


PIPELINES = (
    Pipeline("litdata", "StreamingDataset subclassed", subclassed, "transform::Slow"),
    Pipeline("litdata", "StreamingDataset(transform=...)", by_argument, "transform::slow"),
)
