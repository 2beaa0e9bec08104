"""A ResNet that trains on JPEG files on a device: what the predictions in docs/accuracy.md were compared with.

    python benchmarks/on_device_training.py --data DIR [--workers 4] [--pin] [--normalize-on-device] [--in-memory]
    python benchmarks/on_device_training.py --data DIR --capture LOGDIR       # records 20 steps

Prints the settings and the milliseconds of a step, over the last three quarters of the steps. Each setting is a run of
its own: one with ``--capture`` is what `tb-dataplugin whatif` predicts from, the others are what came of it. Needs
torchvision and Pillow; without a device it runs on the CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):  # run as a file: the packages of this checkout come first
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import annotate

ROOT: Final = Path(__file__).resolve().parents[1]
FILES: Final = 256
LARGE_EACH: Final = 16
"""One file in so many is 18 times as large as the others."""
MEAN: Final = (0.485, 0.456, 0.406)
SPREAD: Final = (0.229, 0.224, 0.225)


class Photos(Dataset[tuple[torch.Tensor, int]]):
    """Files, each many times over."""

    def __init__(self, paths: list[Path], transform: Any) -> None:
        self.paths, self.transform = paths, transform

    def __len__(self) -> int:
        return 100 * len(self.paths)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        with self.paths[index % len(self.paths)].open("rb") as file:
            return self.transform(Image.open(file).convert("RGB")), index % 1000


class InMemory(Dataset[tuple[torch.Tensor, int]]):
    """Samples that are there."""

    def __init__(self, size: int) -> None:
        self.made = [torch.randn(3, size, size) for _ in range(64)]

    def __len__(self) -> int:
        return 100 * FILES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.made[index % len(self.made)], index % 1000


def photos(folder: Path) -> list[Path]:
    """Those of the folder; they are made where they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    paths = [folder / f"{number:04d}.jpg" for number in range(FILES)]
    for number, path in enumerate(paths):
        pixels = rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)
        if not path.exists():
            size = (500, 375) if number % LARGE_EACH else (2400, 1800)
            Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC).save(path, quality=90)
    return paths


def loader_of(options: argparse.Namespace) -> DataLoader[Any]:
    from torchvision import transforms as T  # noqa: N812

    steps = [T.RandomResizedCrop(options.size), T.RandomHorizontalFlip(), T.ToTensor()]
    if not options.normalize_on_device:
        steps.append(T.Normalize(MEAN, SPREAD))
    transform = T.Compose(steps)
    dataset: Any = InMemory(options.size) if options.in_memory else Photos(photos(options.data), transform)
    return DataLoader(
        dataset,
        batch_size=options.batch,
        shuffle=True,
        num_workers=options.workers,
        pin_memory=options.pin,
        drop_last=True,
        persistent_workers=options.workers > 0,
    )


class Trainer:
    """One step of training, in bfloat16."""

    def __init__(self, options: argparse.Namespace) -> None:
        from torchvision import models

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.pins, self.normalizes = options.pin, options.normalize_on_device
        model = getattr(models, options.model)()
        self.model = model.to(self.device).to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.mean, self.spread = (
            torch.tensor(values, device=self.device).view(1, 3, 1, 1) for values in (MEAN, SPREAD)
        )

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        images = images.to(self.device, non_blocking=self.pins, memory_format=torch.channels_last)
        labels = labels.to(self.device, non_blocking=self.pins)
        if self.normalizes:
            images = (images - self.mean) / self.spread
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


def train(trainer: Trainer, loader: Iterable[Any], steps: int, prof: Any) -> list[float]:
    """When each step was over."""
    ended = []
    for number, (images, labels) in enumerate(loader):
        loss = trainer.step(images, labels)
        if number % 10 == 9:
            loss.item()
        if prof is not None:
            prof.step()
        ended.append(time.perf_counter())
        if number == steps - 1:
            break
    if trainer.device == "cuda":
        torch.cuda.synchronize()
    return [*ended[:-1], time.perf_counter()]


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sys.path.append(str(ROOT / "examples"))
    import_module("torchvision_cpu")  # where torchvision lacks its compiled part
    trainer, loader = Trainer(options), loader_of(options)
    capture: Any = nullcontext()
    if options.capture:
        loader = annotate.loader(loader)
        capture = annotate.profile(options.capture, wait=10, warmup=2, active=20)
    with capture as prof:
        ended = train(trainer, loader, options.steps, prof)
    counted = ended[len(ended) // 4 :]
    each = 1e3 * (counted[-1] - counted[0]) / (len(counted) - 1)
    settings = {name: str(value) for name, value in vars(options).items() if value}
    print(json.dumps({"ms_per_step": round(each, 2), **settings}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the files, made if missing")
    parser.add_argument("--capture", type=Path, metavar="LOGDIR", help="record 20 steps there")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--pin", action="store_true", help="pinned batches, copied without blocking")
    parser.add_argument("--normalize-on-device", action="store_true")
    parser.add_argument("--in-memory", action="store_true", help="samples that need no making")
    return parser


if __name__ == "__main__":
    sys.exit(main())
