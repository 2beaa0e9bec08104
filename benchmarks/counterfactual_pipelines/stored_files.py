"""The seventh group, files: clips of raw frames that are never in the page cache, a network share, an object store.

Written without a look at the model of `whatif`, at its documentation or at any prediction.
"""

from __future__ import annotations

import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.stored_kit import read_whole, stored
from benchmarks.counterfactual_pipelines.street_kit import Endless, Real, collating, pixels

SIDE: Final = 288
CLIPS: Final = 30
FRAMES: Final = 7


class CropClip(Real):
    """The same window of all frames."""

    def once(self, frames: Any) -> Any:
        top, left = random.randrange(SIDE - 112), random.randrange(SIDE - 112)
        return np.stack([frame[top : top + 112, left : left + 112] for frame in frames])


class ScaleClip(Real):
    """Numbers around zero, channels first."""

    def once(self, frames: Any) -> Any:
        values = (frames.astype(np.float32) - 127.5) / 58.0
        return torch.from_numpy(values.transpose(3, 0, 1, 2).copy())


class Clips(Endless):
    """A folder of raw frames for each clip; its files are listed, opened and read one after the other."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.folders = _clips()
        self.kept = read_whole(self.folders[0] / "frame_00.raw")

    def __getitem__(self, i: int) -> Any:
        folder = self.folders[i * 7 % CLIPS]
        frames = [self._frame(path) for path in sorted(folder.iterdir())]
        return self.transform([np.frombuffer(frame, np.uint8).reshape(SIDE, SIDE, 3) for frame in frames]), i % 10

    def _frame(self, path: Path) -> bytes:
        if "read::frame" in self.removed:
            return self.kept
        with annotate.stage("read", "frame"):
            return read_whole(path)


@cache
def _clips() -> list[Path]:
    for clip in range(CLIPS):
        values = pixels(clip, SIDE, SIDE)
        for frame in range(FRAMES):
            stored(f"clips/{clip:03}/frame_{frame:02}.raw", lambda v=values, f=frame: (v ^ f).tobytes())  # type: ignore[misc]
    return [stored(f"clips/{clip:03}/frame_00.raw", bytes).parent for clip in range(CLIPS)]


def stack_clips(samples: list[Any]) -> Any:
    return torch.stack([clip for clip, _ in samples]), torch.tensor([label for _, label in samples])


def _cold_clips(removed: Removed) -> Loop:
    dataset = Clips(chain(removed, CropClip(6), ScaleClip(2)), removed)
    collate = collating(removed, stack_clips)
    return Loop(loading(removed, dataset, collate, batch_size=6, num_workers=2, prefetch_factor=2), 6)


class Share:
    """A file system of the network: each call is a way there and back, bytes take their time, and now and then it
    stalls. The files are local ones.
    """

    BYTES_PER_S: Final = 80e6

    def __init__(self) -> None:
        self.pick = random.Random(7)

    def files(self, folder: Path) -> list[Path]:
        self._way()
        return sorted(folder.iterdir())

    def size(self, path: Path) -> int:
        self._way()
        return path.stat().st_size

    def read(self, path: Path) -> bytes:
        self._way()
        data = read_whole(path)
        time.sleep(len(data) / self.BYTES_PER_S + (0.020 if self.pick.random() < 1 / 150 else 0))
        return data

    def _way(self) -> None:
        time.sleep(self.pick.uniform(0.0001, 0.0004))


class Volume(Real):
    """Slices of 16 bits as one array, resampled to half of their size."""

    def once(self, slices: Any) -> Any:
        values = np.stack([np.frombuffer(data, np.int16).reshape(128, 128) for data in slices]).astype(np.float32)
        return (values[:, ::2, ::2] + values[:, 1::2, 1::2]) / 2


class Equalise(Real):
    """By the ranks of the values."""

    def once(self, volume: Any) -> Any:
        edges = np.quantile(volume[::2, ::4, ::4], np.linspace(0, 1, 65))
        return torch.from_numpy(np.searchsorted(edges[1:-1], volume).astype(np.float32) / 64)


class Scans(Endless):
    """A folder of slices on a share; each file's size is asked for before the folder is read."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.folders, self.share = _scans(), Share()
        self.kept = [path.read_bytes() for path in sorted(self.folders[0].iterdir())]

    def __getitem__(self, i: int) -> Any:
        folder = self.folders[i * 5 % len(self.folders)]
        paths = [folder / f"{number:02}.raw" for number in range(8)]
        if "read::listing" not in self.removed:
            with annotate.stage("read", "listing"):
                paths = [path for path in self.share.files(folder) if self.share.size(path)]
        if "read::share" in self.removed:
            return self.transform(self.kept)
        with annotate.stage("read", "share"):
            slices = [self.share.read(path) for path in paths]
        return self.transform(slices)


@cache
def _scans() -> list[Path]:
    pick = np.random.default_rng(2)
    for scan in range(20):
        for number in range(8):
            data = pick.integers(-1000, 2000, (128, 128), dtype=np.int16).tobytes()
            stored(f"scans/{scan:03}/{number:02}.raw", lambda data=data: data)  # type: ignore[misc]
    return [stored(f"scans/{scan:03}/00.raw", bytes).parent for scan in range(20)]


def _shared_scans(removed: Removed) -> Loop:
    dataset = Scans(chain(removed, Volume(2), Equalise(2)), removed)
    return Loop(loading(removed, dataset, batch_size=2, num_workers=1, prefetch_factor=4), 10)


class ObjectStore:
    """Objects that take 5 to 30 ms to come, most of them less than 12, one in eighty 70; nobody computes meanwhile."""

    def __init__(self) -> None:
        self.pick = random.Random(11)
        values = np.cumsum(
            np.random.default_rng(5).integers(-3, 4, (12, 40000), dtype=np.int16), axis=1, dtype=np.int16
        )
        self.objects = [zlib.compress(row.tobytes(), 1) for row in values]

    def get(self, key: int) -> bytes:
        slow = self.pick.random() < 1 / 80
        time.sleep(0.070 if slow else min(0.030, 0.005 + self.pick.gammavariate(1.5, 0.003)))
        return self.objects[key % 12]


class SpectralPower(Real):
    def once(self, values: Any) -> Any:
        windows = values[:39936].reshape(-1, 256).astype(np.float32)
        return torch.from_numpy(np.log1p(np.abs(np.fft.rfft(windows, axis=1)).astype(np.float32)))


class Recordings(Endless):
    """All objects of a batch are asked for at once, over two connections."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.store = ObjectStore()
        self.connections: ThreadPoolExecutor | None = None  # made in the process that uses it
        self.kept = np.frombuffer(zlib.decompress(self.store.objects[0]), np.int16)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [
            (self.transform(self._unpacked(data)), i % 10) for i, data in zip(indices, self._get(indices), strict=True)
        ]

    def _get(self, indices: list[int]) -> list[bytes]:
        if "read::objects" in self.removed:
            return [self.store.objects[i % 12] for i in indices]
        self.connections = self.connections or ThreadPoolExecutor(2)
        with annotate.stage("read", "objects"):
            return list(self.connections.map(self.store.get, indices))

    def _unpacked(self, data: bytes) -> Any:
        if "decode::zlib" in self.removed:
            return self.kept
        with annotate.stage("decode", "zlib"):
            return np.frombuffer(zlib.decompress(data), np.int16)


def _objects(removed: Removed) -> Loop:
    dataset = Recordings(chain(removed, SpectralPower(4)), removed)
    return Loop(loading(removed, dataset, batch_size=8, num_workers=3, prefetch_factor=1), 6)


PIPELINES: Final = (
    Pipeline("cold_clips_2", "seventh", ("read::frame", "transform::CropClip", "collate::stack_clips"), _cold_clips),
    Pipeline("shared_scans_1", "seventh", ("read::listing", "read::share", "transform::Equalise"), _shared_scans),
    Pipeline("objects_3", "seventh", ("read::objects", "decode::zlib", "transform::SpectralPower"), _objects),
)
