"""NVIDIA DALI has no CPU build: a package with its interface (`tests/ecosystem/stubs`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from nvidia.dali.pipeline import Pipeline as DALIPipeline
from nvidia.dali.plugin.pytorch import DALIClassificationIterator

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, slow


def batches() -> Iterator[Any]:
    for first in range(0, SIZE, BATCH):
        for _ in range(BATCH):
            slow(first)
        data = torch.arange(first, first + BATCH).float()
        yield {"data": data, "label": data.long() % 10}


def iterator(folder: Path) -> Any:
    return DALIClassificationIterator([DALIPipeline(batches)], BATCH, SIZE)


PIPELINES = (Pipeline("DALI's interface", "DALIClassificationIterator", iterator, "transform::DALI.Pipeline"),)
