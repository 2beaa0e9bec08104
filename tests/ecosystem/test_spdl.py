"""SPDL: a pipeline of threads or of a process pool, no torch DataLoader anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from spdl.dataloader import DataLoader, get_pytorch_dataloader
from spdl.pipeline import PipelineBuilder
from torch.utils.data import Dataset

import annotate
from tests.ecosystem.observe import WAYS, clear, harmless

SIZE, BATCH = 40, 4


def decode(index: int) -> np.ndarray[Any, Any]:
    return np.full((4, 4), index, dtype=np.float32)


def batch_up(arrays: list[Any]) -> torch.Tensor:
    return torch.from_numpy(np.stack(arrays))


class Squares(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([index, index**2])


def data_loader() -> Any:
    return DataLoader(
        range(SIZE), preprocessor=decode, batch_size=BATCH, aggregator=batch_up, num_threads=2, output_order="input"
    )


def like_torchs() -> Any:
    return get_pytorch_dataloader(
        Squares(), batch_size=BATCH, num_workers=2, in_order=True, multiprocessing_context="fork"
    )


class Pipeline:
    """As its guide builds it."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        builder = PipelineBuilder().add_source(range(SIZE)).pipe(decode, concurrency=2, output_order="input")
        pipeline = builder.aggregate(BATCH).pipe(batch_up).add_sink(2).build(num_threads=2)
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=30)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [data_loader, like_torchs, Pipeline], ids=lambda m: m.__name__)
def test_it_works_or_is_refused_in_one_line(make: Any, way: str, tmp_path: Path) -> None:
    seen = harmless(make, way, tmp_path)
    assert seen.count == SIZE // BATCH
    if seen.refused:
        clear(seen.refused, type(make()).__name__)
    if way == "steps":
        assert any(name.startswith("wait::") for name in seen.stages), seen.stages


def test_a_refusal_tells_what_to_do() -> None:
    """Its name is DataLoader too: the line must not say that a DataLoader is wanted and a DataLoader came."""
    for function in (annotate.loader, annotate.monitor):
        with pytest.raises(TypeError) as error:
            function(data_loader())
        clear(str(error.value), "spdl")
    with pytest.raises(TypeError, match=r"prof\.steps"):
        annotate.loader(data_loader())
