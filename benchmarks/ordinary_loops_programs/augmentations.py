"""A user's little augmentation library: ordinary classes; one of them may have been made slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.ordinary_loops_programs import kit


class Compose:
    def __init__(self, transforms: Sequence[Callable[[torch.Tensor], torch.Tensor]]) -> None:
        self.transforms = transforms

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        for t in self.transforms:
            x = t(x)
        return x


class Crop:
    def __init__(self, ms: float = 0, mode: str = "sleep") -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return kit.slow_call(self.ms, self.mode, lambda: x[..., 1:, 1:])


class Flip:
    def __init__(self, ms: float = 0, mode: str = "sleep") -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return kit.slow_call(self.ms, self.mode, lambda: x.flip(-1))


class Blur:
    def __init__(self, ms: float = 0, mode: str = "sleep") -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return kit.slow_call(self.ms, self.mode, lambda: x * 0.5)


class Jitter:
    def __init__(self, ms: float = 0, mode: str = "sleep") -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return kit.slow_call(self.ms, self.mode, lambda: x + 0.1)


class Normalise:
    def __init__(self, ms: float = 0, mode: str = "sleep") -> None:
        self.ms, self.mode = ms, mode

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return kit.slow_call(self.ms, self.mode, lambda: (x - 0.5) / 0.25)


def slow_one(run: kit.Run, ms: float, mode: str) -> tuple[Compose, str]:
    """Four transforms in an order of the seed, one of them slow. The Compose and the slow one's class name."""
    kinds = [Crop, Flip, Blur, Jitter, Normalise]
    run.rng.shuffle(kinds)
    kinds = kinds[:4]
    at = run.rng.randrange(4)
    return Compose([k(ms, mode) if i == at else k() for i, k in enumerate(kinds)]), kinds[at].__name__


def quick() -> Compose:
    return Compose([Crop(), Normalise()])


class Pictures(torch.utils.data.Dataset):
    """Map-style, pictures in memory."""

    def __init__(self, transform: Callable[[torch.Tensor], torch.Tensor], n: int = 100000, size: int = 33) -> None:
        self.transform, self.n, self.size = transform, n, size

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Any:
        x = torch.full((3, self.size, self.size), float(i % 255))
        return self.transform(x), i % 10


class Train(torch.nn.Module):
    """The step: a model that sleeps, as the thread does that waits for a device, or calls a small torch operation for
    about that long.
    """

    def __init__(self, run: kit.Run, ms: float, torch_op: bool = False) -> None:
        super().__init__()
        self.ms, self.op = ms, torch_op
        self.a = torch.rand(160, 160)

    def forward(self, *batch: Any) -> None:
        if self.op:
            kit.work_torch(self.a, self.ms)
        else:
            kit.time.sleep(self.ms / 1e3)
