"""Pipelines that the training thread limits: samplers, iterators around the loader, no DataLoader workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from torch.utils.data import BatchSampler, Sampler

from benchmarks.counterfactual_pipelines.kit import (
    Blur,
    Jitter,
    Loop,
    Normalise,
    Pictures,
    Pipeline,
    Removed,
    chain,
    loading,
    pad_collate,
    varied,
    work,
)


class ByLoss(Sampler[int]):
    """Each index is drawn from weights anew."""

    def __init__(self, ms: float) -> None:
        self.ms = varied(ms, "ByLoss")

    def __len__(self) -> int:
        return 10**6

    def __iter__(self) -> Iterator[int]:
        for i in range(10**6):
            work(self.ms, "numpy")
            yield i


class ByLength(BatchSampler):
    def __init__(self, ms: float, size: int) -> None:
        self.ms, self.size = varied(ms, "ByLength"), size

    def __len__(self) -> int:
        return 10**5

    def __iter__(self) -> Iterator[list[int]]:
        for i in range(10**5):
            work(self.ms, "sleep")
            yield list(range(i, i + self.size))


def _sampler(removed: Removed) -> Loop:
    sampler = ByLoss(0 if "sampler::ByLoss" in removed else 1.6)
    dataset = Pictures(chain(removed, Blur(1.0)))
    return Loop(loading(removed, dataset, sampler=sampler, num_workers=1), 5)


def _batch_sampler(removed: Removed) -> Loop:
    sampler = ByLength(0 if "sampler::ByLength" in removed else 9, 8)
    dataset = Pictures(chain(removed, Jitter(1.2), Blur(0.4)))
    return Loop(loading(removed, dataset, batch_sampler=sampler, num_workers=2), 4)


def to_patches(ms: float, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        work(ms, "numpy")
        yield batch


def _generator(removed: Removed) -> Loop:
    around = partial(to_patches, 0 if "wrapper::to_patches" in removed else 10)
    return Loop(loading(removed, Pictures(chain(removed, Blur(2.4))), num_workers=1), 4, around)


class Mixup:
    def __init__(self, ms: float, batches: Iterable[Any]) -> None:
        self.ms, self.batches = varied(ms, "Mixup"), batches

    def __iter__(self) -> Iterator[Any]:
        for batch in self.batches:
            work(self.ms, "numpy")
            yield batch


def _class(removed: Removed) -> Loop:
    around = partial(Mixup, 0 if "wrapper::Mixup" in removed else 7)
    return Loop(loading(removed, Pictures(chain(removed, Blur(1.0), Jitter(0.5))), num_workers=2), 8, around)


def _without_workers(removed: Removed) -> Loop:
    transform = chain(removed, Blur(1.3), Jitter(0.5), Normalise(0.2))
    collate = pad_collate(0 if "collate::pad_collate" in removed else 2.5)
    return Loop(loading(removed, Pictures(transform), collate), 6)


def _without_workers_of_one(removed: Removed) -> Loop:
    """Batches of one large sample; the sampler is slow as well."""
    sampler = ByLoss(0 if "sampler::ByLoss" in removed else 2.5)
    own_ms = 0.0 if "sample::Pictures" in removed else 7
    dataset = Pictures(chain(removed, Jitter(4)), size=200, own_ms=own_ms)
    return Loop(loading(removed, dataset, batch_size=1, sampler=sampler), 5)


PIPELINES = (
    Pipeline("sampler_1", "tune", ("sampler::ByLoss", "transform::Blur", "transfer"), _sampler),
    Pipeline("batch_sampler_2", "judge", ("sampler::ByLength", "transform::Jitter", "transform::Blur"), _batch_sampler),
    Pipeline("generator_1", "tune", ("wrapper::to_patches", "transform::Blur", "transfer"), _generator),
    Pipeline("class_2", "judge", ("wrapper::Mixup", "transform::Blur", "transform::Jitter"), _class),
    Pipeline(
        "no_workers",
        "tune",
        ("transform::Blur", "transform::Jitter", "transform::Normalise", "collate::pad_collate"),
        _without_workers,
    ),
    Pipeline(
        "no_workers_of_one",
        "judge",
        ("sampler::ByLoss", "sample::Pictures", "transform::Jitter"),
        _without_workers_of_one,
    ),
)
