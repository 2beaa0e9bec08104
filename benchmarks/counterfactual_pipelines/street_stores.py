"""The fourth group, what is far away: a bucket with retries, shards through a shuffle buffer, features in batches."""

from __future__ import annotations

import io
import pickle
import random
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from PIL import Image
from torch.utils.data import IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_images import RandomResizedCrop, ToTensor
from benchmarks.counterfactual_pipelines.street_kit import Endless, Real, encoded, pixels


class Unavailable(Exception):
    pass


class Bucket(Endless):
    """Answers take some milliseconds, by the size of what is asked; every thirtieth request is turned away at first."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.objects = [encoded(pixels(number, 200, 200)) for number in range(12)]
        self.decoded = Image.fromarray(pixels(0, 200, 200)) if "decode::PIL.Image" in removed else None
        self.pick = random.Random(3)

    def __getitem__(self, i: int) -> Any:
        data = self.objects[i % 12]
        if "read::bucket" not in self.removed:
            with annotate.stage("read", "bucket"):
                data = self._with_retries(i % 12)
        picture = Image.open(io.BytesIO(data))
        return self.transform(picture.convert("RGB") if self.decoded is None else self.decoded), i % 12

    def _with_retries(self, number: int) -> bytes:
        for attempt in range(5):
            try:
                return self._get(number)
            except Unavailable:
                time.sleep(0.004 * 2**attempt)
        raise Unavailable(number)

    def _get(self, number: int) -> bytes:
        time.sleep(self.pick.gammavariate(4, 0.001) + len(self.objects[number]) / 2e7)
        if self.pick.random() < 1 / 30:
            raise Unavailable
        return self.objects[number]


def _bucket(removed: Removed) -> Loop:
    dataset = Bucket(chain(removed, RandomResizedCrop(96, 2), ToTensor(1)), removed)
    return Loop(loading(removed, dataset, batch_size=10, num_workers=4, prefetch_factor=8), 5)


class FlipArray(Real):
    def once(self, values: Any) -> Any:
        return np.ascontiguousarray(values[:, ::-1] if random.random() < 0.5 else values)


class NormaliseArray(Real):
    def once(self, values: Any) -> Any:
        numbers = values.astype(np.float32)
        return (numbers - numbers.mean(axis=(0, 1))) / (numbers.std(axis=(0, 1)) + 1e-5)


class Shards(IterableDataset[Any]):
    """Shards of sixty pickled samples, each fetched at once; the samples go through a buffer that shuffles them."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        self.shard = pickle.dumps([{"image": pixels(k, 48, 48), "label": k % 10} for k in range(60)])
        self.samples = pickle.loads(self.shard)

    def __iter__(self) -> Iterator[Any]:
        worker, buffer = get_worker_info(), list(self.samples)
        pick = random.Random(worker.id if worker else 0)
        while True:
            for sample in self._next_shard():
                place = pick.randrange(len(buffer))
                buffer[place], sample = sample, buffer[place]
                yield self.transform(sample["image"]), sample["label"]

    def _next_shard(self) -> list[dict[str, Any]]:
        if "read::shard" not in self.removed:
            with annotate.stage("read", "shard"):
                time.sleep(random.uniform(0.030, 0.040))
        return list(pickle.loads(self.shard))


def _shards(removed: Removed) -> Loop:
    dataset = Shards(chain(removed, FlipArray(1), NormaliseArray(2)), removed)
    return Loop(loading(removed, dataset, batch_size=20, num_workers=1, prefetch_factor=4), 6)


class Quantise(Real):
    def once(self, values: Any) -> Any:
        return torch.bucketize(values, torch.linspace(-2, 2, 63))


class Features(Endless):
    """A store of features that is asked once for a whole batch; most of the answer's time is the way."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.table = torch.randn(5000, 400)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if "read::features" not in self.removed:
            with annotate.stage("read", "features"):
                time.sleep(0.006 + 0.00005 * len(indices))
        return [self.transform(self.table[i % 5000]) for i in indices]


def _features(removed: Removed) -> Loop:
    dataset = Features(chain(removed, Quantise(2)), removed)
    return Loop(loading(removed, dataset, batch_size=64, num_workers=1), 6)


PIPELINES: Final = (
    Pipeline("bucket_4", "fourth", ("read::bucket", "decode::PIL.Image", "transform::RandomResizedCrop"), _bucket),
    Pipeline("shards_1", "fourth", ("read::shard", "transform::NormaliseArray", "transfer"), _shards),
    Pipeline("features_1", "fourth", ("read::features", "transform::Quantise", "transfer"), _features),
)
