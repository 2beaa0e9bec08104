"""timm's loaders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import timm.data.loader
import torch
from torch.utils.data import DataLoader

from tests.ecosystem.pipeline import BATCH, Pipeline
from tests.ecosystem.pipelines.torch_own import Images


def prefetched(folder: Path) -> Any:
    loader = DataLoader(Images(), batch_size=BATCH, num_workers=2)
    return timm.data.loader.PrefetchLoader(loader, device=torch.device("cpu"))


def multi_epochs(folder: Path) -> Any:
    return timm.data.loader.MultiEpochsDataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2)


PIPELINES = (
    Pipeline("timm", "PrefetchLoader", prefetched, "transform::Slow"),
    Pipeline("timm", "MultiEpochsDataLoader", multi_epochs, "transform::Slow"),
)
