"""torchio: subjects, and its Queue of patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torchio

from tests.ecosystem.pipeline import RUN, Pipeline, slow

SUBJECTS = 96

OWN = ("own profiler", RUN)
LATE = "annotate.profile: workers that the Queue starts when it is made; make it inside the with block"


def subjects(count: int = SUBJECTS) -> list[Any]:
    images = [torchio.ScalarImage(tensor=torch.full((1, 6, 6, 6), float(i))) for i in range(count)]
    return [torchio.Subject(t1=image) for image in images]


def slower(tensor: torch.Tensor) -> torch.Tensor:
    return slow(tensor)


def loader(folder: Path) -> Any:
    transform = torchio.Compose([torchio.RescaleIntensity((0, 1)), torchio.Lambda(slower), torchio.RandomFlip()])
    data = torchio.SubjectsDataset(subjects(), transform=transform)
    return torchio.SubjectsLoader(data, batch_size=2, num_workers=2)


def held_alone(folder: Path) -> Any:
    data = torchio.SubjectsDataset(subjects(), transform=torchio.Lambda(slower))
    return torchio.SubjectsLoader(data, batch_size=2, num_workers=2)


def queue(folder: Path) -> Any:
    data = torchio.SubjectsDataset(subjects(), transform=torchio.Lambda(slower))
    patches = torchio.Queue(data, 6, 3, torchio.data.UniformSampler(4), num_workers=2, shuffle_subjects=False)
    return torchio.SubjectsLoader(patches, batch_size=3, num_workers=0)


PIPELINES = (
    Pipeline("torchio", "SubjectsLoader, Compose", loader, "transform::Lambda", batches=SUBJECTS // 2),
    Pipeline("torchio", "SubjectsLoader, one transform", held_alone, "transform::Lambda", batches=SUBJECTS // 2),
    Pipeline("torchio", "Queue of patches, 2 workers", queue, "transform::Lambda", SUBJECTS, OWN, LATE),
)
