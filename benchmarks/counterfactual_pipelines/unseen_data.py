"""The third group, by what is read: speech, tables, databases, series, archives, clips, chunks, compressed blocks.

Written when the model of `whatif` had been mended on the other pipelines, and before any prediction of these was seen.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import random
import sqlite3
import tarfile
import tempfile
import wave
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Jitter, Loop, Pipeline, Removed, Work, chain, loading, work

_RANDOM: Final = np.random.default_rng(3)


class Endless(Dataset[Any]):
    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        self.transform, self.removed = transform, removed

    def __len__(self) -> int:
        return 10**6


class Spectrogram(Work):
    """`ms`: how many times it is computed."""

    def __call__(self, x: Any) -> Any:
        for _ in range(round(self.ms)):
            np.abs(np.fft.rfft(x[:15872].reshape(-1, 512) * np.hanning(512)))
        return x


class Speech(Endless):
    """One second of 16 kHz, as a WAV file in memory."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        stream = io.BytesIO()
        with wave.open(stream, "wb") as file:
            file.setparams((1, 2, 16000, 0, "NONE", ""))
            file.writeframes(_RANDOM.integers(-3000, 3000, 16000, dtype=np.int16).tobytes())
        self.data, self.decoded = stream.getvalue(), np.zeros(16000, np.float32)

    def __getitem__(self, i: int) -> Any:
        if "decode::wav" in self.removed:
            return torch.from_numpy(self.transform(self.decoded))
        with annotate.stage("decode", "wav"), wave.open(io.BytesIO(self.data)) as file:
            values = np.frombuffer(file.readframes(16000), np.int16).astype(np.float32)
            levels = np.sign(values) * np.log1p(np.abs(values) / 300)
        return torch.from_numpy(self.transform(levels.astype(np.float32)))


def _speech(removed: Removed) -> Loop:
    dataset = Speech(chain(removed, Spectrogram(4), Jitter(0.5)), removed)
    return Loop(loading(removed, dataset, num_workers=2), 4)


class Table(Endless):
    """Blocks of a table as text, parsed in Python."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        pick = random.Random(3)
        self.text = "\n".join(",".join(f"{pick.random():.5f}" for _ in range(20)) for _ in range(24))
        self.parsed = torch.zeros(24, 20)

    def __getitem__(self, i: int) -> Any:
        if "decode::csv" in self.removed:
            return self.transform(self.parsed)
        with annotate.stage("decode", "csv"):
            rows = [[float(cell) for cell in row] for row in csv.reader(self.text.splitlines())]
        return self.transform(torch.tensor(rows))


def _table(removed: Removed) -> Loop:
    return Loop(loading(removed, Table(chain(removed, Jitter(0.3)), removed), batch_size=16, num_workers=1), 5)


class Database(Endless):
    """Rows of JSON in one file of sqlite, which each process opens by itself."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        self.path = Path(tempfile.gettempdir()) / f"counterfactuals_{os.getuid()}.sqlite"
        self.text = json.dumps([round(0.37 * k, 3) for k in range(1200)])
        if not self.path.exists():
            with sqlite3.connect(self.path) as made:
                made.execute("create table samples (number integer primary key, text text)")
                made.executemany("insert into samples values (?, ?)", ((k, self.text) for k in range(512)))
        self.opened: sqlite3.Connection | None = None
        self.array = torch.zeros(1200)

    def __getitem__(self, i: int) -> Any:
        text = self.text
        if "read::sqlite" not in self.removed:
            with annotate.stage("read", "sqlite"):
                if self.opened is None:
                    self.opened = sqlite3.connect(self.path, check_same_thread=False)
                for number in range(12):
                    row = self.opened.execute("select text from samples where number = ?", ((i * 7 + number) % 512,))
                    text = row.fetchone()[0]
        if "decode::json" in self.removed:
            return self.transform(self.array)
        with annotate.stage("decode", "json"):
            values = json.loads(text)
        return self.transform(torch.tensor(values))


def _database(removed: Removed) -> Loop:
    return Loop(loading(removed, Database(chain(removed, Jitter(0.4)), removed), batch_size=12, num_workers=2), 3)


class Resample(Work):
    """`ms`: how many times it is computed."""

    def __call__(self, x: Any) -> Any:
        for _ in range(round(self.ms)):
            np.interp(np.linspace(0, len(x) - 1, 12000), np.arange(len(x)), x)
        return x


class Series(Endless):
    """Windows of one long series in a memory-mapped file."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        with tempfile.NamedTemporaryFile() as file:
            np.zeros(1 << 24, np.float32).tofile(file)
            file.flush()
            self.values = np.memmap(file.name, np.float32, "r")
        self.window = np.zeros(1 << 15, np.float32)

    def __getitem__(self, i: int) -> Any:
        if "read::series" in self.removed:
            return torch.from_numpy(self.transform(self.window)[:4096])
        place = i * 7919 % ((1 << 24) - (1 << 17))
        with annotate.stage("read", "series"):
            window = np.array(self.values[place : place + (1 << 17)]).reshape(-1, 4).mean(axis=1)
        return torch.from_numpy(self.transform(window)[:4096])


def _series(removed: Removed) -> Loop:
    dataset = Series(chain(removed, Resample(3), Jitter(0.2)), removed)
    return Loop(loading(removed, dataset, batch_size=16, num_workers=3), 5)


class Members(IterableDataset[Any]):
    """The members of an archive, in order; each DataLoader worker has an archive of its own."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        stream, array = io.BytesIO(), io.BytesIO()
        np.save(array, np.arange(6000, dtype=np.float32))
        self.packed, self.array = zlib.compress(array.getvalue(), 6), np.arange(6000, dtype=np.float32)
        with tarfile.open(fileobj=stream, mode="w") as made:
            for number in range(64):
                member = tarfile.TarInfo(f"{number:05}.npy.z")
                member.size = len(self.packed)
                made.addfile(member, io.BytesIO(self.packed))
        self.archive = stream.getvalue()

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number = worker.id if worker else 0
        while True:
            for packed in self._members():
                number += 1
                yield self.transform(self._array(packed)), number % 5

    def _members(self) -> Iterator[bytes]:
        if "read::tar" in self.removed:
            yield from (self.packed for _ in range(64))
            return
        with tarfile.open(fileobj=io.BytesIO(self.archive)) as archive:
            while True:
                with annotate.stage("read", "tar"):
                    member = archive.next()
                    file = archive.extractfile(member) if member else None
                    packed = file.read() if file else None
                if packed is None:
                    return
                yield packed

    def _array(self, packed: bytes) -> Any:
        if "decode::npy" in self.removed:
            return torch.from_numpy(self.array)
        with annotate.stage("decode", "npy"):
            return torch.from_numpy(np.load(io.BytesIO(zlib.decompress(packed))))


def _members(removed: Removed) -> Loop:
    return Loop(loading(removed, Members(chain(removed, Jitter(0.6)), removed), batch_size=16, num_workers=2), 4)


class Flip(Work):
    """`ms`: how many times it is computed."""

    def __call__(self, x: Any) -> Any:
        for _ in range(round(self.ms)):
            np.ascontiguousarray(x[:, ::-1, ::-1])
        return x


class Clips(Endless):
    """Clips of eight frames, each compressed by itself."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        frame = _RANDOM.integers(0, 40, (128, 128, 3), dtype=np.uint8)
        self.frames = [zlib.compress(np.roll(frame, k).tobytes(), 1) for k in range(8)]
        self.clip = np.stack([frame] * 8)

    def __getitem__(self, i: int) -> Any:
        if "decode::clip" in self.removed:
            return torch.from_numpy(self.transform(self.clip.copy()))
        with annotate.stage("decode", "clip"):
            frames = [np.frombuffer(zlib.decompress(data), np.uint8).reshape(128, 128, 3) for data in self.frames]
            clip = np.stack(frames)
        return torch.from_numpy(self.transform(clip))


def _clips(removed: Removed) -> Loop:
    dataset = Clips(chain(removed, Flip(2), Jitter(0.8)), removed)
    return Loop(loading(removed, dataset, batch_size=4, num_workers=2, prefetch_factor=4), 8)


class Chunks(Endless):
    """A file in compressed chunks of 32 samples, as HDF5 has them: the last chunk stays unpacked."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        self.values = _RANDOM.integers(0, 60, (32, 1 << 16), dtype=np.uint8)
        self.packed, self.unpacked = zlib.compress(self.values.tobytes(), 1), -1

    def __getitem__(self, i: int) -> Any:
        if i // 32 != self.unpacked and "decode::chunk" not in self.removed:
            with annotate.stage("decode", "chunk"):
                self.values = np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(32, -1)
        self.unpacked = i // 32
        return self.transform(torch.from_numpy(self.values[i % 32, :8192].astype(np.float32)))


def _chunks(removed: Removed) -> Loop:
    return Loop(loading(removed, Chunks(chain(removed, Jitter(0.5)), removed), num_workers=1), 6)


class Blocks(Endless):
    """Long calls of C without the interpreter's lock."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed) -> None:
        super().__init__(transform, removed)
        self.packed = lzma.compress(_RANDOM.integers(0, 12, 1 << 15, dtype=np.uint8).tobytes(), preset=1)
        self.block = np.zeros(1 << 15, np.uint8)

    def __getitem__(self, i: int) -> Any:
        block = self.block
        if "decode::lzma" not in self.removed:
            with annotate.stage("decode", "lzma"):
                block = np.frombuffer(lzma.decompress(self.packed), np.uint8)
        return self.transform(torch.from_numpy(block.astype(np.float32)))


def _blocks(removed: Removed) -> Loop:
    return Loop(loading(removed, Blocks(chain(removed, Jitter(0.6)), removed), batch_size=6, num_workers=4), 9)


class Service(Endless):
    """Answers that mostly take some milliseconds, and now and then many times as long."""

    def __init__(self, transform: Callable[[Any], Any], removed: Removed, scale_ms: float, sigma: float) -> None:
        super().__init__(transform, removed)
        self.scale_ms, self.sigma = scale_ms, sigma

    def __getitem__(self, i: int) -> Any:
        if "read::service" not in self.removed:
            with annotate.stage("read", "service"):
                work(self.scale_ms * random.Random(i).lognormvariate(0, self.sigma), "sleep")
        return self.transform(torch.zeros(2048))


def _heavy_tail(removed: Removed) -> Loop:
    dataset = Service(chain(removed, Jitter(0.4)), removed, 3.0, 0.9)
    return Loop(loading(removed, dataset, batch_size=4, num_workers=3), 4)


def _service(removed: Removed) -> Loop:
    dataset = Service(chain(removed, Jitter(0.4, "python")), removed, 1.2, 0.3)
    return Loop(loading(removed, dataset, num_workers=0), 6)


PIPELINES: Final = (
    Pipeline("speech_2", "third", ("decode::wav", "transform::Spectrogram", "transform::Jitter"), _speech),
    Pipeline("table_1", "third", ("decode::csv", "transform::Jitter", "transfer"), _table),
    Pipeline("database_2", "third", ("read::sqlite", "decode::json", "transform::Jitter"), _database),
    Pipeline("series_3", "third", ("read::series", "transform::Resample", "transform::Jitter"), _series),
    Pipeline("members_2", "third", ("read::tar", "decode::npy", "transform::Jitter"), _members),
    Pipeline("clips_2", "third", ("decode::clip", "transform::Flip", "transfer"), _clips),
    Pipeline("chunks_1", "third", ("decode::chunk", "transform::Jitter", "transfer"), _chunks),
    Pipeline("blocks_4", "third", ("decode::lzma", "transform::Jitter", "transfer"), _blocks),
    Pipeline("heavy_tail_3", "third", ("read::service", "transform::Jitter"), _heavy_tail),
    Pipeline("service_0", "third", ("read::service", "transform::Jitter"), _service),
)
