"""webdataset: tar shards, WebLoader as in its documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import webdataset as wds

from tests.ecosystem.pipeline import BATCH, FROM_START, SIZE, Pipeline, slow

SHARDS = 4
BEGUN = "own profiler: the functions of an epoch that had begun when the profiler did, and that no worker runs"


def shards(folder: Path) -> str:
    rng = np.random.default_rng(0)
    for shard in range(SHARDS):
        with wds.TarWriter(str(folder / f"{shard:04}.tar")) as tar:
            for i in range(SIZE // SHARDS):
                image = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
                tar.write({"__key__": f"{shard}-{i}", "png": image, "cls": i % 10, "raw": b"abc"})
    return str(folder / f"{{0000..{SHARDS - 1:04}}}.tar")


def augment(image: Any) -> Any:
    return np.ascontiguousarray(slow(image)[:, ::-1])


def decode_slowly(key: str, data: bytes) -> Any:
    return slow(len(data)) if key.endswith("raw") else None


def decoded(folder: Path) -> Any:
    return wds.WebDataset(shards(folder), shardshuffle=False, seed=1).shuffle(10, seed=1).decode("rgb")


def web_loader(folder: Path) -> Any:
    """Batches in the workers, mixed and batched anew between them, as the documentation advises."""
    dataset = decoded(folder).to_tuple("png", "cls").map_tuple(augment, None)
    loader = wds.WebLoader(dataset.batched(BATCH), batch_size=None, num_workers=2)
    return loader.unbatched().shuffle(20, seed=1).batched(BATCH)


def mapped(folder: Path) -> Any:
    dataset = decoded(folder).to_tuple("png", "cls").map(slow).batched(BATCH)
    return wds.WebLoader(dataset, batch_size=None, num_workers=2)


def mapped_alone(folder: Path) -> Any:
    dataset = decoded(folder).to_tuple("png", "cls").map(slow).batched(BATCH)
    return wds.WebLoader(dataset, batch_size=None, num_workers=0)


def own_decoder(folder: Path) -> Any:
    dataset = wds.WebDataset(shards(folder), shardshuffle=False).decode(decode_slowly).to_tuple("raw", "cls")
    return wds.WebLoader(dataset.batched(BATCH), batch_size=None, num_workers=2)


PIPELINES = (
    Pipeline("webdataset", "WebLoader, .map", mapped, "transform::slow"),
    Pipeline(
        "webdataset", "WebLoader, 0 workers, .map", mapped_alone, "transform::slow", ways=FROM_START, unseen=BEGUN
    ),
    Pipeline("webdataset", "WebLoader, .map_tuple, shuffled between workers", web_loader, "transform::augment"),
    Pipeline("webdataset", "WebLoader, .decode with a handler", own_decoder, "decode::webdataset.raw"),
)
