"""Loaders that accelerate and Lightning Fabric have prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accelerate import Accelerator
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from tests.ecosystem.pipeline import BATCH, Pipeline
from tests.ecosystem.pipelines.torch_own import Images


def accelerated(folder: Path) -> Any:
    return Accelerator(cpu=True).prepare(DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2))


def fabric(folder: Path) -> Any:
    loader = DataLoader(Images(), batch_size=BATCH, num_workers=2)
    return Fabric(accelerator="cpu", devices=1).setup_dataloaders(loader)


PIPELINES = (
    Pipeline("accelerate", "prepare(DataLoader)", accelerated, "transform::Slow"),
    Pipeline("lightning", "Fabric.setup_dataloaders", fabric, "transform::Slow"),
)
