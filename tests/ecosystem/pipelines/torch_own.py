"""torch's own DataLoader, and albumentations in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import albumentations
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, Slow, slow


class Images(Dataset[Any]):
    """A map-style dataset with a transform, as a tutorial writes it."""

    def __init__(self, transform: Any = None) -> None:
        self.transform = Slow() if transform is None else transform

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.full((3, 6, 6), float(index)) + torch.rand(3, 6, 6)), index


class Augmented(Dataset[Any]):
    def __init__(self) -> None:
        steps = [albumentations.RandomCrop(8, 8), albumentations.Lambda(image=slowly), albumentations.HorizontalFlip()]
        self.transform = albumentations.Compose(steps, seed=3)

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return self.transform(image=np.full((12, 12, 3), index, dtype=np.uint8))["image"]


def slowly(image: Any, **_: Any) -> Any:
    return slow(image)


def plain(folder: Path) -> Any:
    return DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


def alone(folder: Path) -> Any:
    return DataLoader(Images(), batch_size=BATCH, shuffle=True)


def albumentations_pipeline(folder: Path) -> Any:
    return DataLoader(Augmented(), batch_size=BATCH, num_workers=2)


PIPELINES = (
    Pipeline("torch", "DataLoader, 2 workers", plain, "transform::Slow"),
    Pipeline("torch", "DataLoader, 0 workers", alone, "transform::Slow"),
    Pipeline("albumentations", "Compose in a dataset", albumentations_pipeline, "transform::Lambda"),
)
