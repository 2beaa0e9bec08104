"""Pipelines that read, decode and transform: pictures of a store, decoded by PIL."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

import annotate
from benchmarks.counterfactual_pipelines.kit import Jitter, Loop, Pipeline, Removed, chain, loading, work


class Store(Dataset[Any]):
    """`read_ms`: what the store takes to send a picture. Without decoding it is opened and copied all the same."""

    def __init__(self, transform: Any, read_ms: float, decodes: bool, side: int) -> None:
        pixels = np.random.default_rng(0).integers(0, 255, (side, side, 3), dtype=np.uint8)
        stream = io.BytesIO()
        Image.fromarray(pixels).resize((side // 2, side // 2)).resize((side, side)).save(stream, "JPEG")
        self.transform, self.read_ms, self.data = transform, read_ms, stream.getvalue()
        self.decoded = None if decodes else Image.fromarray(pixels)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        with annotate.stage("read", "store"):
            work(self.read_ms, "sleep")
            data = self.data
        with Image.open(io.BytesIO(data)) as opened:
            picture = opened.convert("RGB") if self.decoded is None else self.decoded
            return self.transform(torch.from_numpy(np.array(picture)))


def _dataset(removed: Removed, read_ms: float, transform_ms: float, side: int) -> Store:
    read_ms = 0 if "read::store" in removed else read_ms
    return Store(chain(removed, Jitter(transform_ms)), read_ms, "decode::PIL.Image" not in removed, side)


def _worker(removed: Removed) -> Loop:
    return Loop(loading(removed, _dataset(removed, 2.0, 0.8, 192), num_workers=1), 6)


def _workers(removed: Removed) -> Loop:
    return Loop(loading(removed, _dataset(removed, 1.2, 2.5, 256), num_workers=2), 5)


def _none(removed: Removed) -> Loop:
    return Loop(loading(removed, _dataset(removed, 0.7, 0.4, 320), num_workers=0), 8)


PARTS = ("read::store", "decode::PIL.Image", "transform::Jitter")
PIPELINES = (
    Pipeline("pictures_1", "tune", PARTS, _worker),
    Pipeline("pictures_2", "judge", PARTS, _workers),
    Pipeline("pictures_0", "judge", PARTS, _none),
)
