"""What the fourth group is made of: real work of real libraries, in place of `Work` that takes a known time.

Written without a look at the model of `whatif`, at its documentation or at any prediction.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import Dataset

from benchmarks.counterfactual_pipelines.kit import Loop, Removed, Work

FOLDER: Final = Path(tempfile.gettempdir()) / f"counterfactuals_street_{os.getuid()}"


class Real(Work):
    """Work done `ms` times over: half of two is one, and after none the result is one that was made before."""

    def __init__(self, times: int = 2) -> None:
        self.ms = times
        self.made: dict[int, Any] = {}

    def __call__(self, x: Any) -> Any:
        if not self.ms:
            self.left_out(x)
            size = self.size(x)
            if size not in self.made:
                self.made[size] = self.once(x)
            return self.made[size]
        for _ in range(max(1, round(self.ms))):
            made = self.once(x)
        return made

    def once(self, x: Any) -> Any:
        raise NotImplementedError

    def left_out(self, x: Any) -> None:
        """What is not this work's own, and happens all the same."""

    def size(self, x: Any) -> int:
        """What the size of the result depends on."""
        return 0


class Lengthwise(Real):
    """The result is longer where what it is made of is longer."""

    def size(self, x: Any) -> int:
        return len(x)


class Endless(Dataset[Any]):
    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        self.transform, self.removed = transform, removed

    def __len__(self) -> int:
        return 10**6


class Trained(Loop):
    """A step that trains a small network on the CPU: as many passes as it has milliseconds."""

    def step(self) -> None:
        network, optimizer, inputs = _network()
        for _ in range(max(1, round(self.step_ms))):
            optimizer.zero_grad()
            network(inputs).square().mean().backward()
            optimizer.step()


@cache
def _network() -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor]:
    network = nn.Sequential(nn.Linear(192, 256), nn.ReLU(), nn.Linear(256, 64))
    return network, torch.optim.SGD(network.parameters(), lr=1e-4), torch.ones(96, 192)


class Once:
    """A batch of the first one's shapes each time, in new memory, so that it is sent as the real ones are."""

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        self.collate, self.batch = collate, None

    def __call__(self, samples: Sequence[Any]) -> Any:
        if self.batch is None:
            self.batch = self.collate(samples)
        return _alike(self.batch)


def _alike(batch: Any) -> Any:
    if isinstance(batch, torch.Tensor):
        return torch.empty_like(batch)
    if isinstance(batch, dict):
        return {key: _alike(value) for key, value in batch.items()}
    return type(batch)(map(_alike, batch)) if isinstance(batch, (list, tuple)) else batch


def collating(removed: Removed, collate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return Once(collate) if f"collate::{collate.__name__}" in removed else collate


def cached(name: str, make: Callable[[], bytes]) -> Path:
    """A file that is made once; processes that make it at the same time do not see each other's halves."""
    path = FOLDER / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(make())
        unfinished.replace(path)
    return path


def pixels(number: int, width: int, height: int) -> Any:
    """Of a photo: soft shapes, and some grain."""
    pick = np.random.default_rng(number)
    shapes = Image.fromarray(pick.integers(0, 255, (height // 24, width // 24, 3), dtype=np.uint8))
    soft = np.asarray(shapes.resize((width, height), Image.Resampling.BICUBIC), np.int16)
    return np.clip(soft + pick.integers(-6, 6, soft.shape, dtype=np.int16), 0, 255).astype(np.uint8)


def encoded(values: Any, form: str = "JPEG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, form, quality=88)
    return stream.getvalue()


def packed_arrays(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()
