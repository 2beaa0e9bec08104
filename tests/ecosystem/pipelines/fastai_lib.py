"""fastai: its own DataLoader, which is not torch's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from fastai.data.core import Datasets, TfmdDL
from fastai.data.load import DataLoader
from fasttransform import Transform

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, Slow, slow
from tests.ecosystem.pipelines.torch_own import Images


class Dilate(Transform):  # type: ignore[misc]
    def encodes(self, x: Any) -> Any:
        return slow(x)


class Numbers:
    """Items that a Datasets pipeline starts from."""

    def __init__(self) -> None:
        self.items = list(range(SIZE))

    def __call__(self, index: int) -> torch.Tensor:
        return torch.full((4,), float(index))


def plain(folder: Path) -> Any:
    return DataLoader(Images(Slow()), bs=BATCH, num_workers=2, shuffle=False)


def items(folder: Path) -> Any:
    return TfmdDL(Datasets(list(range(SIZE)), [[Numbers(), Dilate()]]), bs=BATCH, num_workers=2, shuffle=False)


def after_item(folder: Path) -> Any:
    data = Datasets(list(range(SIZE)), [[Numbers()]])
    return TfmdDL(data, bs=BATCH, num_workers=2, shuffle=False, after_item=[Dilate()])


PIPELINES = (
    Pipeline("fastai", "DataLoader over a dataset", plain, "transform::Slow"),
    Pipeline("fastai", "Datasets with item transforms", items, "transform::Dilate"),
    Pipeline("fastai", "TfmdDL(after_item=...)", after_item, "transform::Dilate"),
)
