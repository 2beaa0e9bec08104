"""The fourth group, arrays: speech, volumes, simulations, point clouds, and windows of a long series."""

from __future__ import annotations

import gzip
import io
import os
import random
import wave
from typing import Any, Final

import numpy as np
import scipy.ndimage
import scipy.signal
import torch

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import (
    Endless,
    Lengthwise,
    Real,
    Trained,
    cached,
    collating,
    packed_arrays,
)


class Resample(Lengthwise):
    """From 44.1 to 16 kHz."""

    def once(self, sound: Any) -> Any:
        return scipy.signal.resample_poly(sound, 160, 441).astype(np.float32)


class Spectrogram(Lengthwise):
    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        self.window, self.bands = torch.hann_window(400), torch.rand(64, 201)

    def once(self, sound: Any) -> Any:
        wave_form = torch.from_numpy(sound)
        bins = torch.stft(wave_form, 400, 160, window=self.window, return_complex=True).abs().square()
        return (self.bands @ bins + 1e-6).log().T


def pad_spectra(samples: list[Any]) -> Any:
    """Pads, normalises what is no padding, and masks a few bands of each."""
    lengths = torch.tensor([len(sample) for sample in samples])
    batch = torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)
    real = torch.arange(batch.shape[1])[None, :, None] < lengths[:, None, None]
    mean = (batch * real).sum(1, keepdim=True) / lengths[:, None, None]
    spread = (((batch - mean) * real) ** 2).sum(1, keepdim=True).div(lengths[:, None, None]).sqrt()
    batch = (batch - mean) / (spread + 1e-5) * real
    for sample in batch:
        band = random.randrange(56)
        sample[:, band : band + 8] = 0
    return batch, lengths


def _wav(number: int, seconds: float) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setparams((1, 2, 44100, 0, "NONE", ""))
        length = int(44100 * seconds)
        file.writeframes(np.random.default_rng(number).integers(-4000, 4000, length, dtype=np.int16).tobytes())
    return stream.getvalue()


class Keywords(Endless):
    """Spoken words of 0.6 to 1.4 seconds, a WAV file each."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.files = [
            cached(f"words/{number}.wav", lambda k=number: _wav(k, 0.6 + k / 50))  # type: ignore[misc]
            for number in range(40)
        ]

    def __getitem__(self, i: int) -> Any:
        with wave.open(str(self.files[i * 11 % 40])) as file:
            data = file.readframes(file.getnframes())
        return self.transform(np.frombuffer(data, np.int16).astype(np.float32) / 32768)


def _keywords(removed: Removed) -> Loop:
    dataset = Keywords(chain(removed, Resample(2), Spectrogram(2)), removed)
    return Loop(loading(removed, dataset, collating(removed, pad_spectra), num_workers=2), 8)


class Reverb(Real):
    """One sample in twelve, and slow for it."""

    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        self.room = np.exp(-np.arange(12000, dtype=np.float32) / 2000)

    def once(self, sound: Any) -> Any:
        if random.random() > 1 / 12:
            return sound
        return scipy.signal.fftconvolve(sound, self.room)[: len(sound)].astype(np.float32)


class Equaliser(Real):
    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        self.filter = scipy.signal.butter(6, [0.05, 0.6], "bandpass", output="sos")

    def once(self, sound: Any) -> Any:
        return scipy.signal.sosfilt(self.filter, sound).astype(np.float32)


class Speakers(Endless):
    """Two seconds of 16 kHz, cut from recordings that are in memory."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.recordings = np.random.default_rng(1).standard_normal((8, 64000), np.float32)

    def __getitem__(self, i: int) -> Any:
        begin = random.Random(i).randrange(32000)
        return torch.from_numpy(self.transform(self.recordings[i % 8, begin : begin + 32000])), i % 8


def _reverbs(removed: Removed) -> Loop:
    dataset = Speakers(chain(removed, Reverb(2), Equaliser(2)), removed)
    return Loop(loading(removed, dataset, batch_size=16, num_workers=3, in_order=False), 6)


class CropVolume(Real):
    def once(self, volume: Any) -> Any:
        z, y, x = (random.randrange(16) for _ in range(3))
        part = volume[z : z + 48, y : y + 48, x : x + 48].astype(np.float32)
        return np.ascontiguousarray(np.flip(part, random.randrange(3)))


class Noise(Real):
    def once(self, volume: Any) -> Any:
        return volume + np.random.normal(0, 0.1, volume.shape).astype(np.float32)


class Smooth(Real):
    def once(self, volume: Any) -> Any:
        return scipy.ndimage.gaussian_filter(volume, 0.7, truncate=2)


class Scans(Endless):
    """UNet3D: a volume in an .npz file of its own, one to a batch."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.volume = np.random.default_rng(0).integers(0, 90, (64, 64, 64), dtype=np.int16)
        self.files = [
            cached(f"scans/{number}.npz", lambda k=number: packed_arrays(x=np.roll(self.volume, k, 0)))  # type: ignore[misc]
            for number in range(6)
        ]

    def __getitem__(self, i: int) -> Any:
        with np.load(self.files[i % 6]) as file:
            volume = self.volume if "decode::numpy.NpzFile" in self.removed else file["x"]
        return torch.from_numpy(self.transform(volume))


def _unet3d(removed: Removed) -> Loop:
    dataset = Scans(chain(removed, CropVolume(1), Smooth(2), Noise(2)), removed)
    return Loop(loading(removed, dataset, batch_size=1, num_workers=1, prefetch_factor=1), 7)


class LogCounts(Real):
    def once(self, values: Any) -> Any:
        return np.log1p(values.astype(np.float32))


class Turn(Real):
    """By a quarter, around any axis."""

    def once(self, values: Any) -> Any:
        axes = random.choice(((1, 2), (2, 3), (1, 3)))
        return np.ascontiguousarray(np.rot90(values, random.randrange(1, 4), axes))


class Universes(Endless):
    """CosmoFlow: records of four channels in one compressed file each."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.values = np.random.default_rng(5).poisson(2, (4, 32, 32, 32)).astype(np.int16)
        self.files = [
            cached(
                f"universes/{number}.gz",
                lambda k=number: gzip.compress(np.roll(self.values, k, 1).tobytes(), 3),  # type: ignore[misc]
            )
            for number in range(8)
        ]

    def __getitem__(self, i: int) -> Any:
        values = self.values
        if "decode::record" not in self.removed:
            data = self.files[i % 8].read_bytes()
            with annotate.stage("decode", "record"):
                values = np.frombuffer(gzip.decompress(data), np.int16).reshape(4, 32, 32, 32)
        return torch.from_numpy(self.transform(values)), torch.rand(4)


def _universes(removed: Removed) -> Loop:
    dataset = Universes(chain(removed, LogCounts(2), Turn(2)), removed)
    return Loop(loading(removed, dataset, batch_size=12, num_workers=4, prefetch_factor=2), 6)


class Voxels(Real):
    """One point of each cell of a grid."""

    def once(self, points: Any) -> Any:
        cells = np.floor(points / 0.25).astype(np.int32)
        _, first = np.unique(cells, axis=0, return_index=True)
        return points[first]


class FarthestPoints(Real):
    """Each is the farthest from those before."""

    def once(self, points: Any) -> Any:
        chosen, distance = [0], np.full(len(points), np.inf, np.float32)
        for _ in range(31):
            distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
            chosen.append(int(distance.argmax()))
        return points[chosen]


class Points(Endless):
    """Many small files, looked up in their folder."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.points = np.random.default_rng(2).standard_normal((1500, 3)).astype(np.float32)
        packed = packed_arrays(points=self.points, label=1)
        for number in range(64):
            path = cached(f"points/{number:03}.npz", lambda: packed)
        self.folder = path.parent

    def __getitem__(self, i: int) -> Any:
        names = sorted(os.listdir(self.folder))  # noqa: PTH208 -- as users write it
        with np.load(self.folder / names[i % 64]) as file:
            if "decode::numpy.NpzFile" in self.removed:
                return torch.from_numpy(self.transform(self.points)), 1
            return torch.from_numpy(self.transform(file["points"])), int(file["label"])


def _points(removed: Removed) -> Loop:
    dataset = Points(chain(removed, Voxels(2), FarthestPoints(2)), removed)
    return Trained(loading(removed, dataset, batch_size=6, num_workers=2), 8)


class Detrend(Real):
    def once(self, window: Any) -> Any:
        return scipy.signal.detrend(window, axis=0).astype(np.float32)


class Smoothing(Real):
    def once(self, window: Any) -> Any:
        return scipy.signal.savgol_filter(window, 11, 3, axis=0).astype(np.float32)


class Windows(Endless):
    """Windows of a memory-mapped file of eight sensors."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        path = cached("sensors.f32", lambda: np.random.default_rng(6).random((1 << 18, 8), np.float32).tobytes())
        self.values = np.memmap(path, np.float32, "r").reshape(-1, 8)

    def __getitem__(self, i: int) -> Any:
        begin = i * 7919 % ((1 << 18) - 512)
        return torch.from_numpy(self.transform(np.array(self.values[begin : begin + 512])))


def _windows(removed: Removed) -> Loop:
    dataset = Windows(chain(removed, Detrend(2), Smoothing(2)), removed)
    return Trained(loading(removed, dataset, batch_size=16, num_workers=0), 8)


PIPELINES: Final = (
    Pipeline(
        "keywords_2", "fourth", ("transform::Resample", "transform::Spectrogram", "collate::pad_spectra"), _keywords
    ),
    Pipeline("reverbs_3", "fourth", ("transform::Reverb", "transform::Equaliser", "transfer"), _reverbs),
    Pipeline("unet3d_1", "fourth", ("decode::numpy.NpzFile", "transform::Smooth", "transform::Noise"), _unet3d),
    Pipeline("universes_4", "fourth", ("decode::record", "transform::LogCounts", "transform::Turn"), _universes),
    Pipeline(
        "points_2", "fourth", ("decode::numpy.NpzFile", "transform::Voxels", "transform::FarthestPoints"), _points
    ),
    Pipeline("windows_0", "fourth", ("transform::Detrend", "transform::Smoothing"), _windows),
)
