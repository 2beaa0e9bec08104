"""PyTorch Geometric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch_geometric.data
import torch_geometric.loader
import torch_geometric.transforms as transforms

from tests.ecosystem.pipeline import BATCH, SIZE, Pipeline, slow

EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])


class Slowly(transforms.BaseTransform):  # type: ignore[misc]
    def forward(self, data: Any) -> Any:
        return slow(data)


class Graphs(torch_geometric.data.Dataset):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(None, transform=transforms.Compose([transforms.NormalizeFeatures(), Slowly()]))

    def len(self) -> int:
        return SIZE

    def get(self, index: int) -> Any:
        return torch_geometric.data.Data(x=torch.full((3, 2), float(index)), edge_index=EDGES)


def graphs(folder: Path) -> Any:
    return torch_geometric.loader.DataLoader(Graphs(), batch_size=BATCH, shuffle=True, num_workers=2)


PIPELINES = (Pipeline("torch-geometric", "DataLoader, Dataset(transform=...)", graphs, "transform::Slowly"),)
