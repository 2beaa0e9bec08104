"""MONAI's ThreadDataLoader: a buffer thread in front, and workers that are threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from monai.data import CacheDataset, DataLoader, Dataset, ThreadDataLoader
from monai.transforms import Compose, EnsureChannelFirstd, RandGaussianNoised, RandSpatialCropd, ScaleIntensityd

import annotate
from tests.ecosystem.observe import WAYS, harmless, recorded

BATCHES = 20


def samples() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [{"image": rng.random((12, 12), dtype=np.float32), "label": i} for i in range(2 * BATCHES)]


def transform() -> Compose:
    keys = ["image"]
    steps = [EnsureChannelFirstd(keys, channel_dim="no_channel"), ScaleIntensityd(keys), RandSpatialCropd(keys, (8, 8))]
    return Compose([*steps, RandGaussianNoised(keys)]).set_random_state(0)


def deterministic() -> Compose:
    """For workers that are threads: they share the random transforms' state, so that two plain runs differ."""
    return Compose([EnsureChannelFirstd(["image"], channel_dim="no_channel"), ScaleIntensityd(["image"])])


def thread_workers(**keywords: Any) -> ThreadDataLoader:
    dataset = Dataset(samples(), deterministic())
    return ThreadDataLoader(dataset, batch_size=2, num_workers=2, use_thread_workers=True, **keywords)


def buffered() -> ThreadDataLoader:
    return ThreadDataLoader(Dataset(samples(), transform()), batch_size=2, num_workers=0, buffer_size=4)


def buffered_cache() -> ThreadDataLoader:
    """As in MONAI's fast training guide."""
    dataset = CacheDataset(samples(), transform(), num_workers=1, progress=False)
    return ThreadDataLoader(dataset, batch_size=2, num_workers=0, shuffle=True)


def buffered_processes() -> ThreadDataLoader:
    return ThreadDataLoader(Dataset(samples(), deterministic()), batch_size=2, num_workers=2, buffer_size=2)


def repeated() -> ThreadDataLoader:
    return ThreadDataLoader(Dataset(samples(), transform()), batch_size=4, num_workers=0, repeats=2)


def monais_own() -> DataLoader:
    return DataLoader(Dataset(samples(), transform()), batch_size=2, num_workers=2, shuffle=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "make",
    [thread_workers, buffered, buffered_cache, buffered_processes, repeated, monais_own],
    ids=lambda m: m.__name__,
)
def test_every_batch_arrives(make: Any, way: str, tmp_path: Path) -> None:
    seen = harmless(make, way, tmp_path, races=make is thread_workers)
    assert seen.count == BATCHES
    assert not seen.refused
    if way in ("loop", "steps"):
        recorded(seen)


def two_epochs_of_thread_workers() -> Iterator[Any]:
    loader = annotate.loader(thread_workers())
    yield from loader
    yield from loader


def test_a_second_epoch_of_thread_workers_too(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=BATCHES, warmup=1, active=4) as prof:
        assert sum(1 for _ in prof.steps(two_epochs_of_thread_workers())) == 2 * BATCHES
