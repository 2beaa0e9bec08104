"""The sixth group, pictures: raw video with its flow, JPEG artefacts, erased patches, boxes in XML, masks as runs."""

from __future__ import annotations

import io
import random
from functools import cache
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np
import scipy.ndimage
import torch
from PIL import Image
from torch.nn import functional

import annotate
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline, Removed, chain, loading
from benchmarks.counterfactual_pipelines.street_kit import (
    Endless,
    Lengthwise,
    Real,
    cached,
    collating,
    encoded,
    pixels,
)

WIDTH: Final = 208
HEIGHT: Final = 160
FRAME_BYTES: Final = WIDTH * HEIGHT * 3 // 2


class YuvToRgb(Real):
    """Planes of brightness, and of colour at half the resolution, as cameras and codecs have them."""

    def once(self, planes: Any) -> Any:
        bright = planes[:, :HEIGHT].astype(np.float32)
        colours = planes[:, HEIGHT:].reshape(2, 2, HEIGHT // 2, WIDTH // 2).astype(np.float32) - 128
        blue, red = colours.repeat(2, axis=2).repeat(2, axis=3).swapaxes(0, 1)
        channels = (bright + 1.402 * red, bright - 0.344 * blue - 0.714 * red, bright + 1.772 * blue)
        return np.stack(channels, axis=1).clip(0, 255) / 255


class AffineFlow(Real):
    """Turns and scales both frames, and says where each point went."""

    def once(self, frames: Any) -> Any:
        turn, scale = random.uniform(-0.2, 0.2), random.uniform(0.8, 1.2)
        rows = [[scale, -turn, 0.05], [turn, scale, -0.05]]
        grid = functional.affine_grid(torch.tensor([rows, rows]), [2, 3, HEIGHT, WIDTH], align_corners=False)
        warped = functional.grid_sample(torch.from_numpy(frames), grid, align_corners=False)
        still = functional.affine_grid(torch.eye(2, 3)[None], [1, 2, HEIGHT, WIDTH], align_corners=False)
        return warped, (grid[:1] - still)[0]


class RawVideo(Endless):
    """Two frames that follow one another, from a file of bare planes."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.path = cached("video.yuv", _raw_video)

    def __getitem__(self, i: int) -> Any:
        planes = np.fromfile(self.path, np.uint8, 2 * FRAME_BYTES, offset=i * 5 % 23 * FRAME_BYTES)
        return self.transform(planes.reshape(2, HEIGHT * 3 // 2, WIDTH))


def _raw_video() -> bytes:
    still = pixels(3, WIDTH, HEIGHT * 3 // 2)[..., 0]
    return b"".join(np.roll(still, 2 * number, axis=1).tobytes() for number in range(24))


def stack_flows(samples: list[Any]) -> Any:
    """In memory that is not shared yet, as most people's own collate functions leave it: sending copies it."""
    frames, flows = zip(*samples, strict=True)
    return torch.stack(frames), torch.stack(flows)


def _flow(removed: Removed) -> Loop:
    dataset = RawVideo(chain(removed, YuvToRgb(4), AffineFlow(2)), removed)
    return Loop(loading(removed, dataset, stack_flows, batch_size=4, num_workers=2, prefetch_factor=1), 9)


class JpegArtefacts(Real):
    """Writes the picture as a poor JPEG, and reads that."""

    def once(self, values: Any) -> Any:
        stream = io.BytesIO()
        Image.fromarray(values).save(stream, "JPEG", quality=random.randrange(20, 70))
        return np.array(Image.open(stream))


class HueHistogram(Real):
    """How often each of 512 colours occurs, beside the picture."""

    def once(self, values: Any) -> Any:
        hue, depth, light = np.moveaxis(np.asarray(Image.fromarray(values).convert("HSV")) >> 5, 2, 0).astype(np.int64)
        counts = np.bincount((hue * 64 + depth * 8 + light).ravel(), minlength=512)
        return torch.from_numpy(values), torch.from_numpy(counts / counts.sum())


class Paintings(Endless):
    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.pictures = [pixels(number, 216, 192) for number in range(8)]

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.pictures[i % 8])


def _artefacts(removed: Removed) -> Loop:
    dataset = Paintings(chain(removed, JpegArtefacts(2), HueHistogram(2)), removed)
    return Loop(loading(removed, dataset, batch_size=6, num_workers=3), 9)


class ShrinkTensor(Real):
    def once(self, picture: Any) -> Any:
        small = functional.interpolate(picture[None].float(), size=(144, 144), mode="bicubic", antialias=True)
        return small[0] / 255


class Sharpen(Real):
    def __init__(self, times: int = 2) -> None:
        super().__init__(times)
        kernel = -torch.ones(3, 1, 3, 3) / 8
        kernel[:, :, 1, 1] = 2
        self.kernel = kernel

    def once(self, picture: Any) -> Any:
        return functional.conv2d(picture[None], self.kernel, padding=1, groups=3)[0].clamp(0, 1)


class ErasePatches(Real):
    """Noise in place of six patches."""

    def once(self, picture: Any) -> Any:
        erased = picture.clone()
        for _ in range(6):
            high, wide = random.randrange(24, 64), random.randrange(24, 64)
            down, across = random.randrange(144 - high), random.randrange(144 - wide)
            erased[:, down : down + high, across : across + wide] = torch.randn(3, high, wide)
        return erased


class TensorPictures(Endless):
    """Pictures of bytes, in one tensor."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.pictures = torch.from_numpy(np.stack([pixels(k, 192, 192) for k in range(8)])).permute(0, 3, 1, 2)

    def __getitem__(self, i: int) -> Any:
        return self.transform(self.pictures[i % 8]), i % 8


def _erased(removed: Removed) -> Loop:
    dataset = TensorPictures(chain(removed, ShrinkTensor(2), Sharpen(2), ErasePatches(2)), removed)
    return Loop(loading(removed, dataset, batch_size=8, num_workers=3, persistent_workers=True), 9)


ANCHORS: Final = np.array(
    [(x, y, x + side, y + side) for side in (24, 48, 96) for x in range(0, 400, 24) for y in range(0, 300, 24)],
    np.float32,
)


class MatchAnchors(Real):
    """Which of the boxes each anchor overlaps most."""

    def once(self, sample: Any) -> Any:
        picture, boxes = sample
        near = np.maximum(ANCHORS[:, None, :2], boxes[None, :, :2])
        far = np.minimum(ANCHORS[:, None, 2:], boxes[None, :, 2:])
        shared = (far - near).clip(0).prod(axis=2)
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        overlap = shared / ((ANCHORS[:, 2:] - ANCHORS[:, :2]).prod(axis=1)[:, None] + areas - shared)
        return torch.from_numpy(np.array(picture)), torch.from_numpy(
            np.where(overlap.max(1) > 0.4, overlap.argmax(1), -1)
        )


class Annotated(Endless):
    """Photos with what is on them in XML, as Pascal VOC has it."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.files = []
        for number in range(12):
            photo = cached(f"boxes/{number}.jpg", lambda k=number: encoded(pixels(k, 400, 300)))  # type: ignore[misc]
            notes = cached(f"boxes/{number}.xml", lambda k=number: _voc(k))  # type: ignore[misc]
            self.files.append((photo, notes))
        self.boxes = _boxes(notes.read_bytes())
        self.decoded = Image.fromarray(pixels(0, 400, 300)) if "decode::PIL.Image" in removed else None

    def __getitem__(self, i: int) -> Any:
        photo, notes = self.files[i % 12]
        text, boxes = notes.read_bytes(), self.boxes
        if "decode::voc" not in self.removed:
            with annotate.stage("decode", "voc"):
                boxes = _boxes(text)
        with Image.open(photo) as picture:
            return self.transform((self.decoded or picture.convert("RGB"), boxes))


def _voc(number: int) -> bytes:
    pick, root = random.Random(number), ElementTree.Element("annotation")
    for _ in range(120):
        thing = ElementTree.SubElement(root, "object")
        for name in ("name", "pose", "truncated", "difficult"):
            ElementTree.SubElement(thing, name).text = f"{name} {pick.randrange(4)}"
        box, left, top = ElementTree.SubElement(thing, "bndbox"), pick.randrange(320), pick.randrange(220)
        sides = {"xmin": left, "ymin": top, "xmax": left + pick.randrange(20, 80), "ymax": top + pick.randrange(20, 80)}
        for name, side in sides.items():
            ElementTree.SubElement(box, name).text = str(side)
    return ElementTree.tostring(root)


def _boxes(text: bytes) -> Any:
    boxes = []
    for thing in ElementTree.fromstring(text).iter("object"):
        box = {side.tag: float(side.text or 0) for side in thing.iterfind("./bndbox/*")}
        if thing.findtext("difficult") == "difficult 0":
            boxes.append([box[side] for side in ("xmin", "ymin", "xmax", "ymax")])
    return np.array(boxes, np.float32)


def _annotated(removed: Removed) -> Loop:
    dataset = Annotated(chain(removed, MatchAnchors(2)), removed)
    return Loop(loading(removed, dataset, batch_size=5, num_workers=2, prefetch_factor=4), 7)


class DecodeRuns(Lengthwise):
    """Starts and lengths, as text, to a mask for each thing."""

    def once(self, things: Any) -> Any:
        masks = np.zeros((len(things), 96 * 128), bool)
        for mask, runs in zip(masks, things, strict=True):
            numbers = list(map(int, runs.split()))
            for start, length in zip(numbers[::2], numbers[1::2], strict=True):
                mask[start : start + length] = True
        return masks.reshape(-1, 128, 96)


class Outline(Lengthwise):
    def once(self, masks: Any) -> Any:
        return masks & ~scipy.ndimage.binary_erosion(masks, np.ones((1, 3, 3), bool))


class Things(Endless):
    """Four to eleven things in each picture; run lengths go down the columns."""

    def __init__(self, transform: Any, removed: Removed) -> None:
        super().__init__(transform, removed)
        self.runs = _runs()

    def __getitem__(self, i: int) -> Any:
        return self.transform([self.runs[(i + k) % len(self.runs)] for k in range(4 + i * 5 % 8)])


@cache
def _runs() -> list[str]:
    runs, pick = [], random.Random(5)
    for _ in range(30):
        across, down, wide, high = (
            pick.randrange(34, 94),
            pick.randrange(28, 68),
            pick.uniform(15, 34),
            pick.uniform(9, 28),
        )
        columns = range(int(across - wide) + 1, int(across + wide))
        halves = {x: int(high * (1 - ((x - across) / wide) ** 2) ** 0.5) for x in columns}
        runs.append(" ".join(f"{x * 96 + down - half} {2 * half + 1}" for x, half in halves.items()))
    return runs


def stack_things(samples: list[Any]) -> Any:
    """As many planes for each picture as the one with the most things has, and which thing is at each point."""
    most = max(map(len, samples))
    planes = torch.zeros(len(samples), most, 128, 96)
    for plane, masks in zip(planes, samples, strict=True):
        plane[: len(masks)] = torch.from_numpy(masks)
    return planes, planes.argmax(1)


def _things(removed: Removed) -> Loop:
    dataset = Things(chain(removed, DecodeRuns(4), Outline(2)), removed)
    return Loop(loading(removed, dataset, collating(removed, stack_things), batch_size=6, num_workers=1), 12)


PIPELINES: Final = (
    Pipeline("flow_2", "sixth", ("transform::YuvToRgb", "transform::AffineFlow", "transfer"), _flow),
    Pipeline("artefacts_3", "sixth", ("transform::JpegArtefacts", "transform::HueHistogram"), _artefacts),
    Pipeline(
        "erased_3", "sixth", ("transform::ShrinkTensor", "transform::Sharpen", "transform::ErasePatches"), _erased
    ),
    Pipeline("boxes_2", "sixth", ("decode::voc", "decode::PIL.Image", "transform::MatchAnchors"), _annotated),
    Pipeline("runs_1", "sixth", ("transform::DecodeRuns", "transform::Outline", "collate::stack_things"), _things),
)
