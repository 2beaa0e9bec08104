"""The fifth group, pictures: satellite tiles, scanned lines, crops of two sizes, stereo pairs, pictures inside JSON.

Written, like `fresh_signals` and `fresh_records`, without a look at the model of `whatif`, at its documentation or at
any prediction.
"""

from __future__ import annotations

import base64
import io
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import cv2
import numpy as np
import scipy.ndimage
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch.utils.data import IterableDataset, get_worker_info

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_images import BILINEAR, ToTensor
from benchmarks.counterfactual_pipelines.street_kit import Endless, Real, cached, collating, encoded, pixels

cv2.setNumThreads(0)


class MaskClouds(Real):
    """What is bright in the blue band, and a margin around it."""

    def once(self, bands: Any) -> Any:
        clouds = scipy.ndimage.binary_dilation(bands[0] > 3900, iterations=2)
        return np.where(clouds, 0, bands)


class BandRatios(Real):
    """Vegetation, water, and burnt ground."""

    def once(self, bands: Any) -> Any:
        _, green, red, near, short = bands.astype(np.float32)
        pairs = ((near, red), (green, near), (near, short))
        return np.stack([(above - below) / (above + below + 1e-3) for above, below in pairs])


class Tiles(Endless):
    """Five bands of 160 x 160 in an .npy file each."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.bands = np.random.default_rng(8).integers(0, 4000, (5, 160, 160), dtype=np.uint16)
        self.files = [cached(f"tiles/{number}.npy", partial(self._tile, number)) for number in range(20)]

    def _tile(self, number: int) -> bytes:
        stream = io.BytesIO()
        np.save(stream, np.roll(self.bands, 9 * number, axis=2))
        return stream.getvalue()

    def __getitem__(self, i: int) -> Any:
        bands = self.bands if "decode::numpy.load" in self.removed else np.load(self.files[i * 3 % 20])
        return torch.from_numpy(self.transform(bands))


def _tiles(removed: Removed) -> Loop:
    dataset = Tiles(chain(removed, MaskClouds(1), BandRatios(2)), removed)
    return Loop(loading(removed, dataset, batch_size=16, num_workers=2), 7)


class OfItsSize(Real):
    """The result has another size where the picture has."""

    def size(self, picture: Any) -> int:
        return int(picture.width * 10**4 + picture.height)


class Deskew(OfItsSize):
    def once(self, picture: Any) -> Any:
        shear = (1, random.uniform(-0.15, 0.15), 0, 0, 1, 0)
        return picture.transform(picture.size, Image.Transform.AFFINE, shear, Image.Resampling.BICUBIC)


class FixHeight(OfItsSize):
    def once(self, picture: Any) -> Any:
        return picture.resize((round(picture.width * 32 / picture.height), 32), Image.Resampling.LANCZOS)


class ToInk(OfItsSize):
    def once(self, picture: Any) -> Any:
        return torch.from_numpy(np.array(picture)).float().div(-255).add(1)


class ScannedLines(Endless):
    """Lines of print as grey PNG, no two equally wide."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        lines = [pixels(number, 240 + 24 * (number * 7 % 18), 48 + number % 24)[..., 0] for number in range(36)]
        self.files = [
            cached(f"scanned/{number}.png", partial(encoded, line, "PNG")) for number, line in enumerate(lines)
        ]
        kept = "decode::PIL.Image" in removed
        self.decoded = [Image.fromarray(line) for line in lines] if kept else None

    def __getitem__(self, i: int) -> Any:
        number = i * 5 % 36
        with Image.open(self.files[number]) as picture:
            line = picture.convert("L") if self.decoded is None else self.decoded[number]
            return self.transform(line), torch.arange(number % 20 + 5)


def pad_widths(samples: list[Any]) -> Any:
    """Lines beside a mask of where they are, and the letters one after the other, as CTC wants them."""
    widths = torch.tensor([line.shape[1] for line, _ in samples])
    lines = torch.zeros(len(samples), 1, 32, int(widths.max()))
    for place, (line, _) in zip(lines, samples, strict=True):
        place[0, :, : line.shape[1]] = (line - line.mean()) / (line.std() + 1e-5)
    mask = torch.arange(lines.shape[3]) < widths[:, None]
    return {"lines": lines, "mask": mask, "letters": torch.cat([letters for _, letters in samples])}


def _scanned(removed: Removed) -> Loop:
    dataset = ScannedLines(chain(removed, Deskew(1), FixHeight(1), ToInk(1)), removed)
    return Loop(
        loading(removed, dataset, collating(removed, pad_widths), batch_size=10, num_workers=1, prefetch_factor=4), 9
    )


def crop_of(picture: Any, least: float, side: int) -> Any:
    share = random.uniform(least, least + 0.3)
    left, top = random.uniform(0, 1 - share) * picture.width, random.uniform(0, 1 - share) * picture.height
    box = (left, top, left + share * picture.width, top + share * picture.height)
    return picture.resize((side, side), BILINEAR, box=box)


class GlobalCrops(Real):
    """Two large ones, of which the second is solarised."""

    def once(self, picture: Any) -> Any:
        first, second = (crop_of(picture, 0.6, 128) for _ in range(2))
        return picture, [ImageEnhance.Color(first).enhance(0.7), ImageOps.solarize(second, 160)]


class LocalCrops(Real):
    def once(self, crops: Any) -> Any:
        picture, large = crops
        small = [ImageEnhance.Contrast(crop_of(picture, 0.2, 56)).enhance(1.2) for _ in range(6)]
        return [*large, *small]


class CropsToTensors(Real):
    def once(self, crops: Any) -> Any:
        return [torch.from_numpy(np.array(crop)).permute(2, 0, 1).float().div(255) for crop in crops]


class InMemory(Endless):
    """JPEG of 256 x 192 in memory."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.pictures = [encoded(pixels(number, 264, 192)) for number in range(16)]

    def __getitem__(self, i: int) -> Any:
        return self.transform(Image.open(io.BytesIO(self.pictures[i % 16])).convert("RGB"))


def _multicrop(removed: Removed) -> Loop:
    dataset = InMemory(chain(removed, GlobalCrops(2), LocalCrops(1), CropsToTensors(1)), removed)
    return Loop(loading(removed, dataset, batch_size=6, num_workers=3, persistent_workers=True), 12)


class ShiftColours(Real):
    """Of both pictures, each by its own hue."""

    def once(self, sample: Any) -> Any:
        return {**sample, **{side: self._shifted(sample[side]) for side in ("left", "right")}}

    def _shifted(self, picture: Any) -> Any:
        hues: Any = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
        hues[..., 0] = (hues[..., 0].astype(np.int16) + random.randrange(-9, 9)) % 180
        return cv2.cvtColor(hues, cv2.COLOR_HSV2BGR)


class CropAlike(Real):
    def once(self, sample: Any) -> Any:
        top, left = random.randrange(32), random.randrange(64)
        return {key: np.ascontiguousarray(values[top : top + 160, left : left + 256]) for key, values in sample.items()}


class Occlude(Real):
    """Patches of the right picture are lost in a blur."""

    def once(self, sample: Any) -> Any:
        right = cv2.GaussianBlur(sample["right"], (0, 0), 3)
        for _ in range(3):
            top, left = random.randrange(110), random.randrange(200)
            right[top : top + 50, left : left + 56] = right.mean(axis=(0, 1))
        return {**sample, "right": right}


class StereoToTensors(Real):
    def once(self, sample: Any) -> Any:
        return {key: torch.from_numpy(np.asarray(values, np.float32)) for key, values in sample.items()}


class Stereo(Endless):
    """Left and right as PNG, which OpenCV reads, and how far each place is away."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.files = []
        for number in range(8):
            views = [pixels(number, 336, 192), np.roll(pixels(number, 336, 192), 6, axis=1)]
            self.files.append(
                [
                    str(cached(f"stereo/{number}_{side}.png", partial(encoded, view, "PNG")))
                    for side, view in enumerate(views)
                ]
            )
        self.far = np.random.default_rng(9).random((192, 336), np.float32)
        self.decoded = np.ascontiguousarray(views[0][..., ::-1])

    def __getitem__(self, i: int) -> Any:
        left, right = map(self._read, self.files[i % 8])
        return self.transform({"left": left, "right": right, "far": self.far})

    def _read(self, file: str) -> Any:
        return self.decoded if "decode::cv2.imread" in self.removed else cv2.imread(file)


def _stereo(removed: Removed) -> Loop:
    transform = chain(removed, CropAlike(1), ShiftColours(1), Occlude(1), StereoToTensors(1))
    return Loop(loading(removed, Stereo(transform, removed), batch_size=4, num_workers=2, prefetch_factor=3), 11)


class Rotate(Real):
    def once(self, picture: Any) -> Any:
        return picture.rotate(random.uniform(-30, 30), Image.Resampling.BICUBIC)


class ShiftTones(Real):
    def once(self, picture: Any) -> Any:
        hue, saturation, value = picture.convert("HSV").split()
        turned = hue.point([(tone + random.randrange(-4, 5)) % 256 for tone in range(256)])
        return ImageOps.autocontrast(Image.merge("HSV", (turned, saturation, value)).convert("RGB"), cutoff=1)


class JsonLines(IterableDataset[Any]):
    """A file with a picture in each line: as base64, among what is known about it."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        self.transform, self.removed = transform, removed
        self.pictures = [encoded(pixels(number, 216, 168)) for number in range(20)]
        self.file = cached("base64.jsonl", lambda: b"\n".join(map(self._line, self.pictures)))

    def _line(self, picture: bytes) -> bytes:
        known = {f"score{k}": k / 7 for k in range(1200)} | {"caption": "a boat in the fog " * 40}
        return json.dumps({"image": base64.b64encode(picture).decode(), "known": known}).encode()

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        number = worker.id if worker else 0
        while True:
            with open(self.file, encoding="utf-8") as lines:
                for place, line in enumerate(lines):
                    number += 1
                    yield self.transform(Image.open(io.BytesIO(self._picture(place, line))).convert("RGB")), number

    def _picture(self, place: int, line: str) -> bytes:
        if "decode::jsonl" in self.removed:
            return self.pictures[place]
        with annotate.stage("decode", "jsonl"):
            return base64.b64decode(json.JSONDecoder().decode(line)["image"])


def _base64(removed: Removed) -> Loop:
    dataset = JsonLines(chain(removed, Rotate(1), ShiftTones(1), ToTensor(1)), removed)
    return Loop(loading(removed, dataset, batch_size=4, num_workers=1, prefetch_factor=1), 12)


PIPELINES: Final = (
    Pipeline("tiles_2", "fifth", ("decode::numpy.load", "transform::MaskClouds", "transform::BandRatios"), _tiles),
    Pipeline("scanned_1", "fifth", ("decode::PIL.Image", "transform::Deskew", "collate::pad_widths"), _scanned),
    Pipeline("multicrop_3", "fifth", ("transform::GlobalCrops", "transform::LocalCrops", "transfer"), _multicrop),
    Pipeline("stereo_2", "fifth", ("decode::cv2.imread", "transform::ShiftColours", "transform::Occlude"), _stereo),
    Pipeline("base64_1", "fifth", ("decode::jsonl", "transform::Rotate", "transform::ShiftTones"), _base64),
)
