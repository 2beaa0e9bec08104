"""The fourth group, pictures: photos and masks in files, two views of each, thumbnails, frames, records."""

from __future__ import annotations

import io
import os
import random
import struct
from typing import Any, Final

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter

from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import (
    Endless,
    Real,
    cached,
    collating,
    encoded,
    pixels,
)

BILINEAR: Final = Image.Resampling.BILINEAR
FLIPPED: Final = Image.Transpose.FLIP_LEFT_RIGHT


class RandomResizedCrop(Real):
    """The first transform to look at the pixels: PIL decodes in it."""

    def __init__(self, side: int, times: int = 2) -> None:
        super().__init__(times)
        self.side = side

    def once(self, picture: Any) -> Any:
        width, height = picture.size
        share = random.uniform(0.5, 0.9)
        left, top = random.uniform(0, 1 - share) * width, random.uniform(0, 1 - share) * height
        box = (left, top, left + share * width, top + share * height)
        return picture.resize((self.side, self.side), BILINEAR, box=box)

    def left_out(self, picture: Any) -> None:
        picture.load()


class RandomFlip(Real):
    def once(self, picture: Any) -> Any:
        return picture.transpose(FLIPPED) if random.random() < 0.5 else picture


class ToTensor(Real):
    def once(self, picture: Any) -> Any:
        values = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
        return (values - 0.45) / 0.225


class Photos(Endless):
    """An ImageFolder: JPEG files by class, listed when the dataset is made."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        for number in range(24):
            path = cached(f"photos/{number % 4}/{number}.jpg", lambda k=number: encoded(pixels(k, 400, 300)))  # type: ignore[misc]
        root = path.parents[1]
        self.files = [
            (folder / name, int(folder.name))
            for folder in sorted(root.iterdir())
            for name in sorted(os.listdir(folder))  # noqa: PTH208 -- as torchvision's ImageFolder does
            if name.endswith(".jpg")
        ]
        self.decoded = Image.fromarray(pixels(0, 400, 300)) if "decode::PIL.Image" in removed else None

    def __getitem__(self, i: int) -> Any:
        path, label = self.files[i * 7 % len(self.files)]
        with open(path, "rb") as file, Image.open(file) as picture:
            return self.transform(picture if self.decoded is None else self.decoded), label


def _photos(removed: Removed) -> Loop:
    transform = chain(removed, RandomResizedCrop(112, 2), RandomFlip(1), ToTensor(1))
    return Loop(loading(removed, Photos(transform, removed), batch_size=16, num_workers=4, persistent_workers=True), 6)


class PairedCrop(Real):
    def once(self, pair: Any) -> Any:
        left, top = random.randrange(64), random.randrange(64)
        return tuple(each.crop((left, top, left + 256, top + 256)).rotate(random.uniform(-9, 9)) for each in pair)


class Photometric(Real):
    def once(self, pair: Any) -> Any:
        picture, mask = pair
        picture = ImageEnhance.Contrast(picture).enhance(random.uniform(0.7, 1.3))
        return ImageEnhance.Color(picture).enhance(random.uniform(0.7, 1.3)), mask


class PairToTensors(Real):
    def once(self, pair: Any) -> Any:
        picture, mask = (torch.from_numpy(np.array(each)) for each in pair)
        return picture.permute(2, 0, 1).float().div(255), mask.long()


class Masks(Endless):
    """A photo as JPEG and its mask as PNG, decoded before they are transformed together."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.files = []
        for number in range(12):
            values = pixels(number, 320, 320)
            photo = cached(f"masks/{number}.jpg", lambda v=values: encoded(v))  # type: ignore[misc]
            mask = cached(f"masks/{number}.png", lambda v=values: encoded(v[..., 0] // 24, "PNG"))  # type: ignore[misc]
            self.files.append((photo, mask))
        photo_and_mask = Image.fromarray(values), Image.fromarray(values[..., 0] // 24)
        self.decoded = photo_and_mask if "decode::PIL.Image" in removed else None

    def __getitem__(self, i: int) -> Any:
        photo, mask = self.files[i % len(self.files)]
        with Image.open(photo) as picture, Image.open(mask) as areas:
            if self.decoded is not None:
                return self.transform(self.decoded)
            return self.transform((picture.convert("RGB"), areas.convert("L")))


def _masks(removed: Removed) -> Loop:
    dataset = Masks(chain(removed, PairedCrop(2), Photometric(2), PairToTensors(1)), removed)
    return Loop(loading(removed, dataset, batch_size=4, num_workers=2, prefetch_factor=4), 6)


class ColourJitter(Real):
    def once(self, picture: Any) -> Any:
        if random.random() > 0.8:
            return picture
        for change in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            picture = change(picture).enhance(random.uniform(0.6, 1.4))
        return picture


class GaussianBlur(Real):
    """Half of the views are blurred."""

    def once(self, picture: Any) -> Any:
        return picture.filter(ImageFilter.GaussianBlur(random.uniform(0.5, 2))) if random.random() < 0.5 else picture


class TwoViews(Endless):
    """Two views of each picture, which the dataset has in memory as JPEG."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.pictures = [encoded(pixels(number, 224, 224)) for number in range(16)]

    def __getitem__(self, i: int) -> Any:
        picture = Image.open(io.BytesIO(self.pictures[i % 16])).convert("RGB")
        return self.transform(picture), self.transform(picture)


def _two_views(removed: Removed) -> Loop:
    transform = chain(removed, RandomResizedCrop(96, 1), ColourJitter(2), GaussianBlur(2), ToTensor(1))
    return Loop(loading(removed, TwoViews(transform, removed), num_workers=3), 8)


class PadAndCrop(Real):
    def once(self, values: Any) -> Any:
        padded = np.pad(values, ((4, 4), (4, 4), (0, 0)), mode="reflect")
        left, top = random.randrange(8), random.randrange(8)
        return padded[top : top + 32, left : left + 32]


class Thumbnails(Endless):
    """CIFAR: one array in memory."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.values = np.random.default_rng(4).integers(0, 255, (2000, 32, 32, 3), dtype=np.uint8)

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.values[i % 2000]), i % 10


def mixup(samples: list[Any]) -> Any:
    pictures = torch.stack([torch.from_numpy(np.ascontiguousarray(picture)) for picture, _ in samples])
    labels = torch.nn.functional.one_hot(torch.tensor([label for _, label in samples]), 10).float()
    share, order = np.random.beta(0.4, 0.4), torch.randperm(len(samples))
    pictures = pictures.permute(0, 3, 1, 2).float().div(255).sub(0.45).div(0.225)
    return pictures.lerp(pictures[order], share), labels.lerp(labels[order], share)


def _thumbnails(removed: Removed) -> Loop:
    dataset = Thumbnails(chain(removed, PadAndCrop(2)), removed)
    return Loop(loading(removed, dataset, collating(removed, mixup), batch_size=256, num_workers=1), 9)


class ResizeFrames(Real):
    def once(self, frames: Any) -> Any:
        return [frame.resize((112, 112), Image.Resampling.BICUBIC) for frame in frames]


class StackFrames(Real):
    def once(self, frames: Any) -> Any:
        return torch.stack([torch.from_numpy(np.array(frame)) for frame in frames]).float().div(255)


class Frames(Endless):
    """Eight frames of a motion JPEG, from a random place of it."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        still = pixels(0, 240, 180)
        self.frames = [encoded(np.roll(still, 5 * number, axis=1)) for number in range(24)]
        self.decoded = Image.fromarray(still) if "decode::PIL.Image" in removed else None

    def __getitem__(self, i: int) -> Any:
        first = random.Random(i).randrange(16)
        opened = [Image.open(io.BytesIO(frame)) for frame in self.frames[first : first + 8]]
        return self.transform([self.decoded or frame.convert("RGB") for frame in opened])


def _frames(removed: Removed) -> Loop:
    dataset = Frames(chain(removed, ResizeFrames(2), StackFrames(1)), removed)
    return Loop(loading(removed, dataset, batch_size=2, num_workers=2), 7)


class Records(Endless):
    """Many JPEG in one file behind an index of their places, as ResNet-50's training data is often kept."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.path = cached("records.bin", _records)
        with open(self.path, "rb") as file:
            (count,) = struct.unpack("<q", file.read(8))
            self.places = struct.unpack(f"<{count + 1}q", file.read(8 * (count + 1)))
        self.file: Any = None
        self.decoded = Image.fromarray(pixels(0, 256, 256)) if "decode::PIL.Image" in removed else None

    def __getitem__(self, i: int) -> Any:
        self.file = self.file or open(self.path, "rb")  # noqa: SIM115 -- one for each process, for good
        number = i * 13 % (len(self.places) - 1)
        self.file.seek(self.places[number])
        data = self.file.read(self.places[number + 1] - self.places[number])
        picture = Image.open(io.BytesIO(data))
        return self.transform(picture.convert("RGB") if self.decoded is None else self.decoded), number


def _records() -> bytes:
    pictures = [encoded(pixels(number, 256, 256)) for number in range(32)]
    places = np.cumsum([8 + 8 * 33, *map(len, pictures)])
    return struct.pack("<34q", 32, *places) + b"".join(pictures)


def _of_records(removed: Removed) -> Loop:
    transform = chain(removed, RandomResizedCrop(160, 2), RandomFlip(1), ToTensor(2))
    dataset = Records(transform, removed)
    return Loop(loading(removed, dataset, batch_size=12, num_workers=3, persistent_workers=True), 8)


PIPELINES: Final = (
    Pipeline("photos_4", "fourth", ("decode::PIL.Image", "transform::RandomResizedCrop", "transfer"), _photos),
    Pipeline("masks_2", "fourth", ("decode::PIL.Image", "transform::PairedCrop", "transform::Photometric"), _masks),
    Pipeline("two_views_3", "fourth", ("transform::ColourJitter", "transform::GaussianBlur", "transfer"), _two_views),
    Pipeline("thumbnails_1", "fourth", ("transform::PadAndCrop", "collate::mixup", "transfer"), _thumbnails),
    Pipeline("frames_2", "fourth", ("decode::PIL.Image", "transform::ResizeFrames", "transfer"), _frames),
    Pipeline(
        "records_3",
        "fourth",
        ("decode::PIL.Image", "transform::RandomResizedCrop", "transform::ToTensor"),
        _of_records,
    ),
)
