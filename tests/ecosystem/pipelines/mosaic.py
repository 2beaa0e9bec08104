"""mosaicml-streaming: MDS shards in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import streaming
from torch.utils.data import DataLoader

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, Slow


def shards(folder: Path) -> str:
    where = folder / "mds"
    if not where.exists():
        with streaming.MDSWriter(out=str(where), columns={"x": "ndarray", "y": "int"}) as writer:
            for index in range(SIZE):
                writer.write({"x": np.full((4, 4), index, dtype=np.float32), "y": index})
    return str(where)


class Mine(streaming.StreamingDataset):  # type: ignore[misc]
    """As its documentation subclasses it."""

    def __init__(self, local: str) -> None:
        super().__init__(local=local, shuffle=False, batch_size=BATCH)
        self.transforms = Slow()

    def __getitem__(self, index: Any) -> Any:
        row = super().__getitem__(index)
        return self.transforms(row["x"]), row["y"]


def torchs(folder: Path) -> Any:
    return DataLoader(Mine(shards(folder)), batch_size=BATCH, num_workers=2)


def its_own(folder: Path) -> Any:
    return streaming.StreamingDataLoader(Mine(shards(folder)), batch_size=BATCH, num_workers=2)


PIPELINES = (
    Pipeline("mosaicml-streaming", "StreamingDataset in torch's DataLoader", torchs, "transform::Slow"),
    Pipeline("mosaicml-streaming", "StreamingDataLoader", its_own, "transform::Slow"),
)
