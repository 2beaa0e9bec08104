"""The fifth group, signals: heart beats, sounds with noise, sounds that are stretched, slices of scans far away."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.ndimage
import scipy.signal
import torch
from torch.utils.data import BatchSampler

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import Endless, Lengthwise, Real, Trained, cached


class LevelBaseline(Real):
    """Breathing moves the baseline: a running median of each lead is taken off."""

    def once(self, leads: Any) -> Any:
        coarse = scipy.ndimage.median_filter(leads[:, ::8], (1, 25))
        return leads - np.repeat(coarse, 8, axis=1)[:, : leads.shape[1]]


class BandPass(Real):
    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        self.sections = scipy.signal.butter(4, (0.5, 40), "bandpass", fs=250, output="sos")

    def once(self, leads: Any) -> Any:
        return scipy.signal.sosfiltfilt(self.sections, leads, axis=1).astype(np.float32)


class Heartbeats(Endless):
    """Ten seconds of twelve leads in one file each: a header, and what each value differs from the one before."""

    HEADER: Final = "<4sHHf"

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        steps = np.random.default_rng(11).integers(-30, 30, (12, 2500), dtype=np.int16)
        data = struct.pack(self.HEADER, b"ECG1", 12, 2500, 0.005) + steps.tobytes()
        self.files = [cached(f"heartbeats/{number}.ecg", lambda: data) for number in range(16)]

    def __getitem__(self, i: int) -> Any:
        data = self.files[i % 16].read_bytes()
        _, leads, length, unit = struct.unpack_from(self.HEADER, data)
        steps = np.frombuffer(data, np.int16, offset=struct.calcsize(self.HEADER)).reshape(leads, length)
        return torch.from_numpy(self.transform(np.cumsum(steps, axis=1, dtype=np.float32) * np.float32(unit)))


def _heartbeats(removed: Removed) -> Loop:
    dataset = Heartbeats(chain(removed, LevelBaseline(1), BandPass(1)), removed)
    return Loop(loading(removed, dataset, batch_size=8, num_workers=1, prefetch_factor=3), 16)


class AddNoise(Real):
    """So many decibels below the sound, each time other noise."""

    def once(self, sound: Any) -> Any:
        noise = np.random.standard_normal(len(sound)).astype(np.float32)
        loudness = np.sqrt(np.mean(sound**2) / np.mean(noise**2))
        return sound + noise * loudness * 10 ** (-random.uniform(5, 30) / 20)


class Gain(Real):
    """Louder or softer, and held back where it was loud for a while."""

    def once(self, sound: Any) -> Any:
        louder = sound * np.float32(10 ** (random.uniform(-12, 12) / 20))
        envelope = scipy.signal.lfilter([0.005], [1, -0.995], np.abs(louder)).astype(np.float32)
        return np.tanh(louder / np.sqrt(1 + 4 * envelope))


class Sounds(Endless):
    """One second of 16 kHz each, in one array of 16-bit numbers."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.values = np.random.default_rng(12).integers(-(2**14), 2**14, (60, 16000), dtype=np.int16)

    def __getitem__(self, i: int) -> Any:
        return torch.from_numpy(self.transform(self.values[i * 7 % 60].astype(np.float32) / 2**15)), i % 12


def _gains(removed: Removed) -> Loop:
    """A CPU trains, and the training thread loads as well."""
    dataset = Sounds(chain(removed, AddNoise(1), Gain(1)), removed)
    return Trained(loading(removed, dataset, batch_size=16, num_workers=0), 6)


class TimeStretch(Lengthwise):
    """By interpolation; few tempos, so that results have few lengths."""

    def once(self, sound: Any) -> Any:
        places = np.arange(0, len(sound) - 1, random.choice((0.9, 1.0, 1.1)))
        return np.interp(places, np.arange(len(sound)), sound).astype(np.float32)


class Cepstra(Lengthwise):
    """Spectra of frames that overlap, their logarithms, and a cosine transform of these."""

    def once(self, sound: Any) -> Any:
        frames = np.lib.stride_tricks.sliding_window_view(sound, 512)[::256] * np.hanning(512).astype(np.float32)
        powers = np.abs(np.fft.rfft(frames, axis=1)[:, :256]) ** 2
        bands = np.log(powers.reshape(len(frames), 64, 4).mean(axis=2) + 1e-6)
        return torch.from_numpy(scipy.fft.dct(bands, axis=1)[:, :40].astype(np.float32))


class ByLength(BatchSampler):
    """Sounds of about the same length come in one batch: a pool is drawn, sorted, and cut."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def __len__(self) -> int:
        return 10**5

    def __iter__(self) -> Iterator[list[int]]:
        pick = random.Random(5)
        while True:
            pool = sorted(pick.choices(range(len(self.lengths)), k=64), key=self.lengths.__getitem__)
            batches = [pool[first : first + 16] for first in range(0, 64, 16)]
            pick.shuffle(batches)
            yield from batches


class Speakers(Endless):
    """Sounds of ten lengths, between one and two seconds."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        pick = np.random.default_rng(13)
        self.sounds = [pick.standard_normal(16000 + 1600 * (k % 10), np.float32) for k in range(40)]

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.sounds[i])


def pad_cepstra(samples: list[Any]) -> Any:
    lengths = torch.tensor([len(sample) for sample in samples])
    return torch.nn.utils.rnn.pad_sequence(samples, batch_first=True), lengths


def _stretched(removed: Removed) -> Loop:
    dataset = Speakers(chain(removed, TimeStretch(2), Cepstra(1)), removed)
    sampler = ByLength([len(sound) for sound in dataset.sounds])
    return Loop(loading(removed, dataset, pad_cepstra, batch_sampler=sampler, num_workers=3, prefetch_factor=1), 7)


class WindowLevel(Real):
    """Soft tissue, lungs and bones: a channel each."""

    def once(self, values: Any) -> Any:
        windows = ((40, 400), (-600, 1500), (300, 1500))
        channels = [np.clip((values - level) / width + 0.5, 0, 1) ** 0.8 for level, width in windows]
        return np.stack(channels).astype(np.float32)


class Slices(Endless):
    """An archive of scans that answers after some milliseconds: elements with a tag and a length each, then pixels."""

    SIDE: Final = 128

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        pick = np.random.default_rng(14)
        self.stored = [self._element(k, pick.bytes(8 + 2 * (k % 20))) for k in range(700)]
        pixels = pick.integers(0, 2**12, (self.SIDE, self.SIDE), dtype=np.uint16)
        self.stored.append(self._element(0xFFF0, pixels.tobytes()))
        self.answer, self.pick = b"".join(self.stored), random.Random(6)
        self.decoded = self._decode(self.answer)

    @staticmethod
    def _element(tag: int, value: bytes) -> bytes:
        return struct.pack("<HH2sH", 0x28, tag, b"OW", 0) + struct.pack("<I", len(value)) + value

    def __getitem__(self, i: int) -> Any:
        if "read::archive" not in self.removed:
            with annotate.stage("read", "archive"):
                time.sleep(self.pick.gammavariate(6, 0.0007))
        values = self.decoded
        if "decode::dicom" not in self.removed:
            with annotate.stage("decode", "dicom"):
                values = self._decode(self.answer)
        return torch.from_numpy(self.transform(values)), i % 4

    def _decode(self, data: bytes) -> Any:
        elements, at = {}, 0
        while at < len(data):
            group, tag, _, _, length = struct.unpack_from("<HH2sHI", data, at)
            elements[group, tag] = data[at + 12 : at + 12 + length]
            at += 12 + length
        values = np.frombuffer(elements[0x28, 0xFFF0], np.uint16).reshape(self.SIDE, self.SIDE)
        return values.astype(np.float32) - 1024


def _slices(removed: Removed) -> Loop:
    dataset = Slices(chain(removed, WindowLevel(1)), removed)
    return Loop(loading(removed, dataset, batch_size=8, num_workers=4, prefetch_factor=4), 8)


PIPELINES: Final = (
    Pipeline("heartbeats_1", "fifth", ("transform::LevelBaseline", "transform::BandPass", "transfer"), _heartbeats),
    Pipeline("gains_0", "fifth", ("transform::AddNoise", "transform::Gain"), _gains),
    Pipeline("stretched_3", "fifth", ("transform::TimeStretch", "transform::Cepstra", "transfer"), _stretched),
    Pipeline("slices_4", "fifth", ("read::archive", "decode::dicom", "transform::WindowLevel"), _slices),
)
