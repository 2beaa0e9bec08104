"""Pipelines that a DataLoader worker or the way from it limits."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from benchmarks.counterfactual_pipelines.kit import (
    Blur,
    Jitter,
    Loop,
    Normalise,
    Pictures,
    Pipeline,
    Removed,
    Rescale,
    Stream,
    chain,
    loading,
    pad_collate,
    work,
)


def _graphs(removed: Removed) -> Loop:
    transform = chain(removed, Blur(1.2), Jitter(0.4))
    collate = pad_collate(0 if "collate::pad_collate" in removed else 1.5)
    return Loop(loading(removed, Pictures(transform), collate, num_workers=1), 5)


def _volumes(removed: Removed) -> Loop:
    transform = chain(removed, Normalise(0.7), Blur(2.4))
    return Loop(loading(removed, Pictures(transform, size=64), num_workers=2), 3)


class Sentences(Dataset[Any]):
    """Lists of small objects."""

    def __init__(self, transform: Any, count: int) -> None:
        self.transform, self.count = transform, count

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return self.transform([(f"w{i}", i + k, 0.5 * k) for k in range(self.count)])


def _as_is(samples: list[Any]) -> list[Any]:
    return samples


def _pickles(removed: Removed) -> Loop:
    dataset = Sentences(chain(removed, Normalise(0.4)), 1500)
    return Loop(loading(removed, dataset, _as_is, num_workers=2), 4)


def _pickles_python(removed: Removed) -> Loop:
    dataset = Sentences(chain(removed, Normalise(1.2, "python"), Jitter(0.5, "python")), 1000)
    return Loop(loading(removed, dataset, _as_is, num_workers=1), 6)


def _big_tensors(removed: Removed) -> Loop:
    transform = chain(removed, Jitter(0.5))
    dataset = Pictures(transform, size=400, prebuilt="sample::Pictures" in removed)
    return Loop(loading(removed, dataset, num_workers=1), 6)


def _big_arrays(removed: Removed) -> Loop:
    """Arrays of numpy are pickled as a whole."""
    dataset = Volumes(chain(removed, Rescale(1.0)))
    return Loop(loading(removed, dataset, _as_is, num_workers=1), 8)


class Volumes(Dataset[Any]):
    def __init__(self, transform: Any) -> None:
        self.transform, self.volume = transform, np.ones((4, 64, 64, 32), np.float32)

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.volume)


def _slow_collate(removed: Removed) -> Loop:
    collate = pad_collate(0 if "collate::pad_collate" in removed else 14)
    return Loop(loading(removed, Pictures(chain(removed, Jitter(0.6))), collate, num_workers=2), 4)


class Batched(Dataset[Any]):
    """Fetches a whole batch, and transforms it at once."""

    def __init__(self, transform: Any, own_ms: float) -> None:
        self.transform, self.own_ms = transform, own_ms

    def __len__(self) -> int:
        return 10**6

    def __getitems__(self, indices: list[int]) -> Any:
        work(self.own_ms, "numpy")
        return self.transform(torch.ones(len(indices), 3, 64, 64))


def _batched(removed: Removed) -> Loop:
    own_ms = 0 if "sample::Batched.__getitems__" in removed else 5
    dataset = Batched(chain(removed, Blur(12), Jitter(2)), own_ms)
    return Loop(loading(removed, dataset, _as_is, num_workers=1), 6)


def _two_transforms(removed: Removed) -> Loop:
    transform = chain(removed, Blur(3.5, "sleep"), Jitter(1.5, "sleep"), Normalise(0.5, "sleep"))
    return Loop(loading(removed, Pictures(transform), num_workers=2), 3)


def _slow_25th(removed: Removed) -> Loop:
    transform = chain(removed, Rescale(110, "sleep", every=25), Jitter(0.5))
    return Loop(loading(removed, Pictures(transform), num_workers=2), 6)


def _slow_40th(removed: Removed) -> Loop:
    transform = chain(removed, Blur(1.5), Rescale(160, "numpy", every=40))
    return Loop(loading(removed, Pictures(transform), num_workers=1), 9)


def _iterable(removed: Removed) -> Loop:
    dataset = Stream(chain(removed, Jitter(0.5)), 0 if "sample::Stream" in removed else 1.6)
    return Loop(loading(removed, dataset, num_workers=1), 5)


def _prefetch_1(removed: Removed) -> Loop:
    """The worker has its next index only when the loop has taken the batch: build time beside the step."""
    transform = chain(removed, Blur(2.2, "sleep"), Jitter(0.8, "sleep"))
    collate = pad_collate(0 if "collate::pad_collate" in removed else 3, "sleep")
    return Loop(loading(removed, Pictures(transform), collate, num_workers=1, prefetch_factor=1), 12)


def _prefetch_1_large(removed: Removed) -> Loop:
    """The same, with a transfer that takes its time."""
    dataset = Sentences(chain(removed, Blur(1.4), Normalise(0.6)), 800)
    return Loop(loading(removed, dataset, _as_is, num_workers=1, prefetch_factor=1), 10)


def _prefetch_1_of_2(removed: Removed) -> Loop:
    transform = chain(removed, Rescale(4, "sleep"), Normalise(1.5, "sleep"))
    collate = pad_collate(0 if "collate::pad_collate" in removed else 9, "sleep")
    return Loop(loading(removed, Pictures(transform), collate, num_workers=2, prefetch_factor=1), 14)


class Locked(Dataset[Any]):
    """An archive that one process may read at a time."""

    def __init__(self, transform: Any, held_ms: float) -> None:
        self.transform, self.held_ms = transform, held_ms
        self.path = Path(tempfile.gettempdir()) / f"counterfactuals_{os.getuid()}.lock"
        self.path.touch()

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, i: int) -> Any:
        if self.held_ms:
            with self.path.open("w") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                work(self.held_ms, "sleep")
        return self.transform(torch.ones(3, 32, 32))


def _locked(removed: Removed) -> Loop:
    dataset = Locked(chain(removed, Jitter(0.8)), 0 if "sample::Locked" in removed else 1.5)
    return Loop(loading(removed, dataset, num_workers=2), 4)


def _crowded(removed: Removed) -> Loop:
    transform = chain(removed, Blur(2.6), Normalise(0.9))
    return Loop(loading(removed, Pictures(transform), num_workers=5), 5)


def _crowded_python(removed: Removed) -> Loop:
    transform = chain(removed, Jitter(2.0, "python"), Blur(1.0, "python"))
    collate = pad_collate(0 if "collate::pad_collate" in removed else 5)
    return Loop(loading(removed, Pictures(transform), collate, num_workers=4), 6)


def _python(removed: Removed) -> Loop:
    transform = chain(removed, Jitter(1.5, "python"), Blur(0.7, "python"))
    return Loop(loading(removed, Pictures(transform), num_workers=1), 6)


def _long_steps(removed: Removed) -> Loop:
    return Loop(loading(removed, Pictures(chain(removed, Blur(1.0), Jitter(0.4))), num_workers=2), 25)


PIPELINES = (
    Pipeline("graphs_1", "tune", ("transform::Blur", "transform::Jitter", "collate::pad_collate", "transfer"), _graphs),
    Pipeline(
        "volumes_2",
        "judge",
        ("transform::Normalise", "transform::Blur", "collate::default_collate", "transfer"),
        _volumes,
    ),
    Pipeline("pickles_2", "tune", ("transform::Normalise", "transfer"), _pickles),
    Pipeline("pickles_python_1", "tune", ("transform::Normalise", "transform::Jitter", "transfer"), _pickles_python),
    Pipeline(
        "big_tensors_1",
        "tune",
        ("transform::Jitter", "sample::Pictures", "collate::default_collate", "transfer"),
        _big_tensors,
    ),
    Pipeline("big_arrays_1", "judge", ("transform::Rescale", "transfer"), _big_arrays),
    Pipeline("slow_collate_2", "tune", ("transform::Jitter", "collate::pad_collate", "transfer"), _slow_collate),
    Pipeline("batched_1", "judge", ("sample::Batched.__getitems__", "transform::Blur", "transform::Jitter"), _batched),
    Pipeline(
        "two_transforms_2", "judge", ("transform::Blur", "transform::Jitter", "transform::Normalise"), _two_transforms
    ),
    Pipeline("slow_25th_2", "tune", ("transform::Rescale", "transform::Jitter"), _slow_25th),
    Pipeline("slow_40th_1", "judge", ("transform::Rescale", "transform::Blur", "transfer"), _slow_40th),
    Pipeline("iterable_1", "judge", ("sample::Stream", "transform::Jitter", "transfer"), _iterable),
    Pipeline("prefetch_1", "tune", ("transform::Blur", "transform::Jitter", "collate::pad_collate"), _prefetch_1),
    Pipeline("prefetch_1_large", "judge", ("transform::Blur", "transform::Normalise", "transfer"), _prefetch_1_large),
    Pipeline(
        "prefetch_1_of_2",
        "judge",
        ("transform::Rescale", "transform::Normalise", "collate::pad_collate"),
        _prefetch_1_of_2,
    ),
    Pipeline("locked_2", "judge", ("sample::Locked", "transform::Jitter"), _locked),
    Pipeline("crowded_5", "tune", ("transform::Blur", "transform::Normalise", "transfer"), _crowded),
    Pipeline(
        "crowded_python_4",
        "judge",
        ("transform::Jitter", "transform::Blur", "collate::pad_collate", "transfer"),
        _crowded_python,
    ),
    Pipeline("python_1", "judge", ("transform::Jitter", "transform::Blur", "transfer"), _python),
    Pipeline("long_steps_2", "tune", ("transform::Blur", "transform::Jitter", "transfer"), _long_steps),
)
