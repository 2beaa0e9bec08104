"""A data pipeline with planted delays. Everything in it can be pickled, for DataLoader workers that are spawned."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import annotate

Place = Literal["decode", "transform", "collate", ""]
Sample = tuple[torch.Tensor, tuple[float, float]]
Batch = dict[str, torch.Tensor]

STAGES: Final[Mapping[Place, str]] = {
    "decode": "decode::slow",
    "transform": "transform::Slow",
    "collate": "collate::Collate",
}


def delayed(seconds: float) -> tuple[float, float]:
    """Sleep; when that began and ended: perf_counter, seconds, which all processes of a machine share."""
    begin = time.perf_counter()
    time.sleep(seconds)
    return begin, time.perf_counter()


def waited_for_cpu() -> torch.Tensor:
    """How long this thread could run and had no CPU, since it began; seconds, 0 where the system does not say."""
    try:
        spent = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        spent = 0.0
    return torch.tensor([spent], dtype=torch.float64)


@dataclass(frozen=True)
class Plan:
    """`delay_s`: per sample; for ``collate`` per batch. `image`: elements of a sample, channels first."""

    batches: int
    batch_size: int = 8
    image: tuple[int, int, int] = (3, 64, 64)
    place: Place = ""
    delay_s: float = 0.0
    seed: int = 7


class Flip:
    """Random, by all three generators that a dataset may use."""

    def __call__(self, sample: Sample) -> Sample:
        image, span = sample
        if random.random() < 0.5:
            image = image.flip(-1)
        if np.random.random() < 0.5:
            image = image.flip(-2)
        return image + torch.rand(1), span


class Slow:
    """Sleeps, and notes when."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, sample: Sample) -> Sample:
        return sample[0], delayed(self.seconds)


class Photos(Dataset[Sample]):
    """A sample is an image and when its delay began and ended."""

    def __init__(self, plan: Plan, marked: bool) -> None:
        self.plan = plan
        steps: list[Any] = [Flip()]
        if plan.place == "transform":
            steps.append(Slow(plan.delay_s))
        self.transform: Any = annotate.compose(Chain(steps)) if marked else Chain(steps)

    def __len__(self) -> int:
        return self.plan.batches * self.plan.batch_size

    def __getitem__(self, index: int) -> Sample:
        span = (0.0, 0.0)
        generator = torch.Generator().manual_seed(index + 1000 * self.plan.seed)
        image = torch.randn(self.plan.image, generator=generator)
        if self.plan.place == "decode":
            with annotate.stage("decode", "slow"):
                span = delayed(self.plan.delay_s)
        found: Sample = self.transform((image, span))
        return found


class Chain:
    """What torchvision's Compose is."""

    def __init__(self, transforms: Sequence[Any]) -> None:
        self.transforms = list(transforms)

    def __call__(self, sample: Sample) -> Sample:
        for transform in self.transforms:
            sample = transform(sample)
        return sample


class Collate:
    """Images and spans of a batch, and how long its maker has waited for a CPU. Sleeps where the plan has that here."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, samples: list[Sample]) -> Batch:
        images = torch.stack([image for image, _ in samples])
        spans = [span for _, span in samples]
        if self.plan.place == "collate":
            spans[0] = delayed(self.plan.delay_s)
        return {"images": images, "spans": torch.tensor(spans, dtype=torch.float64), "late": waited_for_cpu()}


def make_loader(plan: Plan, workers: int, marked: bool, start: str = "fork", **options: Any) -> DataLoader[Any]:
    """The loader of a plan, recorded by captures where it is `marked`, else without anything of ours."""
    dataset, collate = Photos(plan, marked), Collate(plan)
    if workers:
        options["multiprocessing_context"] = start
    if not marked:
        return DataLoader(dataset, plan.batch_size, num_workers=workers, collate_fn=collate, **options)
    loader: DataLoader[Any] = annotate.loader(
        DataLoader(
            annotate.dataset(dataset),
            plan.batch_size,
            num_workers=workers,
            collate_fn=annotate.collate(collate),
            **options,
        )
    )
    return loader


def seed_all(seed: int) -> None:
    """As a program does that wants the same batches in each run."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def digest(images: torch.Tensor) -> str:
    """Of the exact bytes of a tensor on the CPU."""
    return hashlib.sha256(images.contiguous().numpy().tobytes()).hexdigest()[:16]
