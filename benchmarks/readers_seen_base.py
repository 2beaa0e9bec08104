"""What the datasets of `readers_seen` are made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 512
COUNT = 6


Pipeline = Callable[[Path], Any]


def dataset(name: str, read: Callable[[int], Any]) -> Any:
    """A dataset whose items are what `read` gives, of a class of its own; `read` is held by the class, not by it."""

    def __getitem__(self: object, index: int) -> Any:  # noqa: N807
        return read(index)

    def __len__(self: object) -> int:  # noqa: N807
        return COUNT

    return type(name, (), {"__getitem__": __getitem__, "__len__": __len__, "__module__": __name__})()


def pixels(seed: int = 0, side: int = SIDE) -> np.ndarray[Any, Any]:
    """Neither constant nor noise: it compresses as pictures do."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.integers(0, 3, (side, side, 3)), axis=0).astype(np.uint8)


def records(seed: int, count: int = 400) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [{"id": i, "text": "x" * rng.randrange(40), "box": [rng.random() for _ in range(4)]} for i in range(count)]
