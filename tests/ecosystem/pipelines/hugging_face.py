"""datasets: map-style and streamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import numpy as np
from torch.utils.data import DataLoader

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, slow


def brighter(examples: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {"image": [np.asarray(slow(image)) + 1 for image in examples["image"]]}


def doubled(example: dict[str, Any]) -> dict[str, Any]:
    return {"x": slow(example["x"])}


def keep_all(example: dict[str, Any]) -> bool:
    return bool(slow(1))


def transformed(folder: Path) -> Any:
    rows = datasets.Dataset.from_dict({"image": [[float(i)] * 4 for i in range(SIZE)], "label": list(range(SIZE))})
    rows.set_transform(brighter)
    return DataLoader(rows, batch_size=BATCH, shuffle=True, num_workers=2)


def rows() -> Any:
    return datasets.Dataset.from_dict({"x": [[float(i)] * 4 for i in range(SIZE)]})


def streamed(folder: Path) -> Any:
    stream = rows().to_iterable_dataset(num_shards=2).map(doubled)
    return DataLoader(stream.with_format("torch"), batch_size=BATCH, num_workers=2)


def shuffled(folder: Path) -> Any:
    stream = rows().to_iterable_dataset(num_shards=2).map(doubled)
    return DataLoader(stream.shuffle(seed=1, buffer_size=8).with_format("torch"), batch_size=BATCH, num_workers=2)


def streamed_alone(folder: Path) -> Any:
    return DataLoader(rows().to_iterable_dataset(num_shards=2).map(doubled).with_format("torch"), batch_size=BATCH)


def filtered(folder: Path) -> Any:
    stream = rows().to_iterable_dataset(num_shards=2).filter(keep_all)
    return DataLoader(stream.with_format("torch"), batch_size=BATCH, num_workers=2)


PIPELINES = (
    Pipeline("datasets", "set_transform", transformed, "transform::brighter"),
    Pipeline("datasets", "streaming, .map", streamed, "transform::doubled"),
    Pipeline("datasets", "streaming, .map, .shuffle", shuffled, "transform::doubled"),
    Pipeline("datasets", "streaming, .map, 0 workers", streamed_alone, "transform::doubled"),
    Pipeline("datasets", "streaming, .filter", filtered, "transform::keep_all"),
)
