"""webdataset: tar shards, WebLoader as in its documentation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webdataset as wds
from torch.utils.data import DataLoader

import annotate
from tests.ecosystem.observe import WAYS, clear, harmless, observe, recorded

SHARDS, SAMPLES, BATCH = 4, 12, 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    for shard in range(SHARDS):
        with wds.TarWriter(str(folder / f"{shard:04}.tar")) as tar:
            for i in range(SAMPLES):
                image = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
                tar.write({"__key__": f"{shard}-{i}", "png": image, "cls": i % 10})
    return str(folder / f"{{0000..{SHARDS - 1:04}}}.tar")


def augment(image: Any) -> Any:
    return np.ascontiguousarray(image[:, ::-1])


def dataset(shards: str) -> Any:
    decoded = wds.WebDataset(shards, shardshuffle=False, seed=1).shuffle(10, seed=1).decode("rgb")
    return decoded.to_tuple("png", "cls").map_tuple(augment, None)


def web_loader(shards: str) -> Any:
    """Batches in the workers, mixed and batched anew between them, as the documentation advises."""
    loader = wds.WebLoader(dataset(shards).batched(BATCH), batch_size=None, num_workers=2)
    return loader.unbatched().shuffle(20, seed=1).batched(BATCH)


def web_loader_alone(shards: str) -> Any:
    return wds.WebLoader(dataset(shards).batched(BATCH), batch_size=None, num_workers=0)


def web_loader_of_an_epoch(shards: str) -> Any:
    loader = wds.WebLoader(dataset(shards), batch_size=BATCH, num_workers=2)
    return loader.with_epoch(8).with_length(8)


def torchs_loader(shards: str) -> Any:
    return DataLoader(dataset(shards), batch_size=BATCH, num_workers=2)


MAKERS = [web_loader, web_loader_alone, web_loader_of_an_epoch, torchs_loader]


@pytest.fixture(scope="module")
def make(request: pytest.FixtureRequest, shards: str) -> Callable[[], Any]:
    return lambda: request.param(shards)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS, indirect=True, ids=lambda m: m.__name__)
def test_web_loader(make: Callable[[], Any], way: str, tmp_path: Path) -> None:
    seen = harmless(make, way, tmp_path)
    if seen.refused:
        clear(seen.refused, "WebLoader")
    if way in ("loop", "steps"):
        assert seen.record


@pytest.mark.parametrize("name", ["annotated loader", "annotated dataset"])
def test_the_loader_inside_can_be_annotated(name: str, shards: str, tmp_path: Path) -> None:
    """What can be done where WebLoader itself is refused."""

    def make() -> Any:
        data = dataset(shards).batched(BATCH)
        inner = DataLoader(data, batch_size=None, num_workers=2)
        annotate.dataset(data) if name == "annotated dataset" else annotate.loader(inner)
        return wds.DataPipeline(inner)

    seen = observe(make, "steps", tmp_path)
    assert seen.count == SHARDS * SAMPLES // BATCH
    assert seen.record["workers"]


def test_steps_over_a_web_loader_has_a_wait(shards: str, tmp_path: Path) -> None:
    seen = observe(lambda: web_loader(shards), "steps", tmp_path)
    assert any(name.startswith("wait::") for name in seen.stages), seen.stages


def test_samples_of_a_web_dataset_are_seen(shards: str, tmp_path: Path) -> None:
    seen = harmless(lambda: torchs_loader(shards), "steps", tmp_path)
    recorded(seen, "sample::WebDataset")
