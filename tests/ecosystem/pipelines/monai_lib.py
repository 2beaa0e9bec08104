"""MONAI: its datasets and transforms, its buffer thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from monai.data import CacheDataset, DataLoader, Dataset, ThreadDataLoader
from monai.transforms import Compose, EnsureChannelFirstd, Lambdad, RandFlipd, ScaleIntensityd

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, slow


def samples() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"image": rng.random((12, 12, 12), dtype=np.float32), "label": i} for i in range(SIZE)]


def transform() -> Compose:
    keys = ["image"]
    steps = [EnsureChannelFirstd(keys, channel_dim="no_channel"), ScaleIntensityd(keys), Lambdad(keys, slow)]
    return Compose(steps).set_random_state(0)


def workers(folder: Path) -> Any:
    return DataLoader(Dataset(samples(), transform()), batch_size=BATCH, num_workers=2)


def cached(folder: Path) -> Any:
    keys = ["image"]
    steps = Compose(
        [EnsureChannelFirstd(keys, channel_dim="no_channel"), RandFlipd(keys, prob=0.5), Lambdad(keys, slow)]
    )
    dataset = CacheDataset(samples(), steps.set_random_state(0), num_workers=None, progress=False)
    return DataLoader(dataset, batch_size=BATCH, num_workers=2)


def buffered(folder: Path) -> Any:
    return ThreadDataLoader(Dataset(samples(), transform()), batch_size=BATCH, num_workers=0)


def thread_workers(folder: Path) -> Any:
    data = Dataset(samples(), transform())
    return ThreadDataLoader(data, batch_size=BATCH, num_workers=2, use_thread_workers=True)


PIPELINES = (
    Pipeline("monai", "DataLoader, dictionary transforms", workers, "transform::Lambdad"),
    Pipeline("monai", "CacheDataset", cached, "transform::Lambdad"),
    Pipeline("monai", "ThreadDataLoader, a buffer thread", buffered, "transform::Lambdad"),
    Pipeline("monai", "ThreadDataLoader, workers that are threads", thread_workers, "transform::Lambdad"),
)
