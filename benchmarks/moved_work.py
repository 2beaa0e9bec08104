"""By how much the same code takes longer in a DataLoader worker than in the training thread: CPU time of a transform.

    python benchmarks/moved_work.py [--seconds 1.5]

Each transform runs in a program without DataLoader workers, and in one with a single worker, beside the same training
step on one thread. Memory that is freed stays with the process in one of them and is given back in the other, so code
with large arrays may take several times as long (docs/whatif.md).
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

KB: Final = (30, 300, 1200, 5000)
LEFT_OUT: Final = 40
"""Calls before the measured ones."""


def _denoise(image: Any) -> Any:
    for _ in range(4):
        around = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
        image = (around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:] + 4 * image) / 8
    return image


def transforms(size: int) -> dict[str, Callable[[], Any]]:
    """On arrays of so many bytes."""
    side = max(8, int((size / 12) ** 0.5))
    image = np.random.default_rng(1).random((side, side, 3), dtype=np.float32)
    pixels = (image * 255).astype(np.uint8)
    file, series = io.BytesIO(), image.ravel()
    Image.fromarray(pixels).save(file, "jpeg")
    text = json.dumps(pixels.ravel()[: size // 16].tolist())
    packed, tensor = zlib.compress(pixels.tobytes(), 1), torch.from_numpy(image)
    picture = Image.fromarray(pixels)
    return {
        "denoise": lambda: _denoise(image),
        "normalise": lambda: (pixels.astype(np.float32) / 255 - 0.5) / 0.25,
        "sort": lambda: np.sort(series),
        "spectrum": lambda: np.abs(np.fft.rfft(series)),
        "tensor": lambda: (tensor * 2 - 1).clamp(-0.5, 0.5).permute(2, 0, 1).contiguous(),
        "jpeg": lambda: np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB")),
        "resize": lambda: np.asarray(picture.resize((side // 2 + 1, side // 2 + 1))),
        "unpack": lambda: np.frombuffer(zlib.decompress(packed), np.uint8),
        "json": lambda: json.loads(text),
        "words": lambda: len({text[place : place + 5] for place in range(0, len(text) // 4, 3)}),
    }


class Work(IterableDataset[Any]):
    def __init__(self, call: Callable[[], Any], spent: Any) -> None:
        self.call, self.spent = call, spent

    def __iter__(self) -> Iterator[int]:
        calls = 0
        while True:
            begin = time.thread_time()
            self.call()
            if calls >= LEFT_OUT:
                self.spent[0] += time.thread_time() - begin
                self.spent[1] += 1
            calls += 1
            yield 0


def measure(name: str, kb: int, workers: int, seconds: float) -> float:
    """CPU time of one call, in seconds."""
    torch.set_num_threads(1)
    spent = torch.zeros(2, dtype=torch.float64).share_memory_()
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64 * 64, 4))
    data = torch.rand(8, 3, 64, 64)
    loader = DataLoader(Work(transforms(kb * 1000)[name], spent), batch_size=8, num_workers=workers)
    end = None
    for _ in loader:
        model(data).sum().backward()
        end = end or time.monotonic() + seconds
        if time.monotonic() > end and spent[1] >= LEFT_OUT:
            break
    return float(spent[0] / spent[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(measure(args.one[0], int(args.one[1]), int(args.one[2]), args.seconds))
        return
    for kb in KB:
        for name in transforms(1000):
            call = [sys.executable, __file__, "--seconds", str(args.seconds), "--one", name, str(kb)]
            alone, moved = (float(subprocess.check_output([*call, workers])) for workers in ("0", "1"))
            print(f"{kb:6} kB {name:10} {1e3 * alone:8.3f} ms {1e3 * moved:8.3f} ms {moved / alone:6.2f}x", flush=True)


if __name__ == "__main__":
    main()
