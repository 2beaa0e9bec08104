"""Four changes to a slow pipeline, and what the report says at each.

    python examples/tour.py --logdir runs/tour
    tensorboard --logdir runs/tour

Every stop is captured with `annotate.profile`, which prints its verdict. Printed here are the first finding and what
the change brought: measured, beside the finding that the report of the stop before had first, and its bound. The report
does not know the story; where it recommends something else than the next stop does, it may know this machine better: on
two cores, more workers bring nothing, so that the stop after them goes on from the baseline. A gain above a bound is
noise, or the change did more than what was recommended.

Where there is no GPU, a pause stands for the training step: a device that computes by itself. A model on the CPU would
take the workers' cores, and be what everything waits for.
"""

from __future__ import annotations

import argparse
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate

import annotate
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Finding
from tb_dataplugin.report.rows import doubt_words

if __package__ in (None, ""):
    from demo import CROP, ConvertColor, RandomMask, Scale, make_model, make_photos
else:
    from examples.demo import CROP, ConvertColor, RandomMask, Scale, make_model, make_photos
from torchvision import transforms as T  # noqa: N812

PAUSE_S = 0.01
LINES = ("hot_line", "defined_at", "no_line")
"""Kinds of evidence that name the line to change, or say why none is named."""
WARM_UP_STEPS = 12
"""More than the batches that the workers have prepared before the first step."""


class Photos(Dataset):
    """As many samples as are asked for, from a few JPEG files."""

    def __init__(self, paths: list[Path], transform):
        self.paths = paths
        self.transform = transform

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        with open(self.paths[index % len(self.paths)], "rb") as file:
            return self.transform(Image.open(file)), index % 10


class RandomMaskOfBits(RandomMask):
    """The same blots by shifting and or-ing booleans: nine times nine multiplications per pixel become sixteen ors."""

    def __call__(self, image):
        points = torch.rand(image.shape[-2:]).numpy() < self.share
        blots = dilate(dilate(points, len(self.structure)).T, len(self.structure)).T
        return image * torch.from_numpy(~blots)


def dilate(points: np.ndarray, width: int) -> np.ndarray:
    """Every true value spread over `width` rows."""
    wide = points.copy()
    for shift in range(1, width // 2 + 1):
        wide[shift:] |= points[:-shift]
        wide[:-shift] |= points[shift:]
    return wide


class ConvertBatch:
    """Colour and scale in `collate`, on the whole batch at once."""

    def __init__(self):
        self.matrix = ConvertColor().matrix / 127.5

    def __call__(self, samples):
        images, labels = default_collate(samples)
        flat = images.reshape(len(images), 3, -1).float()
        return (self.matrix @ flat - 1.0).reshape(images.shape), labels


class Stop(NamedTuple):
    """A state of the pipeline."""

    name: str
    transforms: Callable[[], list]
    workers: int
    collate: Callable | None = None


STOPS = (
    Stop("baseline", lambda: [T.PILToTensor(), T.RandomCrop(CROP), RandomMask(), ConvertColor(), Scale()], workers=4),
    Stop(
        "more workers", lambda: [T.PILToTensor(), T.RandomCrop(CROP), RandomMask(), ConvertColor(), Scale()], workers=8
    ),
    Stop(
        "dilation of booleans",
        lambda: [T.PILToTensor(), T.RandomCrop(CROP), RandomMaskOfBits(), ConvertColor(), Scale()],
        workers=4,
    ),
    Stop(
        "crop first",
        lambda: [T.RandomCrop(CROP), T.PILToTensor(), RandomMaskOfBits(), ConvertColor(), Scale()],
        workers=4,
    ),
    Stop(
        "colour and scale in collate",
        lambda: [T.RandomCrop(CROP), T.PILToTensor(), RandomMaskOfBits()],
        workers=4,
        collate=ConvertBatch(),
    ),
)  # the workers go back to what they were: eight of them are no part of what follows


def step_on_gpu() -> Callable[[torch.Tensor, torch.Tensor], None]:
    model = make_model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(images: torch.Tensor, labels: torch.Tensor) -> None:
        with annotate.stage("h2d"):
            images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def pause(images: torch.Tensor, labels: torch.Tensor) -> None:
    time.sleep(PAUSE_S)


def run(stop: Stop, paths: list[Path], logdir: Path, batch_size: int, steps: int) -> str:
    """Train for a while, and give back the trace's path."""
    torch.manual_seed(0)
    dataset = Photos(paths, annotate.compose(stop.transforms()))
    loader = annotate.loader(
        DataLoader(dataset, batch_size=batch_size, num_workers=stop.workers, collate_fn=stop.collate)
    )
    train_step = step_on_gpu() if torch.cuda.is_available() else pause
    with annotate.profile(logdir, wait=WARM_UP_STEPS, warmup=2, active=steps) as prof:
        for number, (images, labels) in enumerate(prof.steps(loader)):
            train_step(images, labels)
            if number == WARM_UP_STEPS + 2 + steps:  # one more: leaving the loop ends the workers, which takes long
                break
    return prof.trace_files[0]


class Seen(NamedTuple):
    """What the report said of a stop."""

    name: str
    step_us: float
    promise: str
    """Its first finding, and how many times as fast that may make it at most."""
    doubt: str
    """Why its numbers are doubtful; "" where they are not."""


def tell(stop: Stop, path: str, before: Seen | None) -> Seen:
    """Print a stop's part of the story."""
    capture = analyse_file(Path(path), stop.name).capture
    step_us, doubt = capture.steps.mean_us, doubt_words(capture)
    print(f"\n== {stop.name}: {stop.workers} workers, {step_us / 1000:.1f} ms per step")
    if before is not None:
        both = ", ".join(dict.fromkeys(filter(None, (before.doubt, doubt))))
        times = f"{before.step_us / step_us:.2f}x{doubtful(both)}"
        say(f"measured: {times} as fast as {before.name}, {before.promise}")
    if not capture.findings:
        print("   no findings")
        return Seen(stop.name, step_us, "which had no findings", doubt)
    first = capture.findings[0]
    say(f"first finding ({first.severity}): {first.title}")
    say(f"-> {first.advice}")
    for line in (evidence.text for evidence in first.evidence if evidence.kind in LINES):
        say(f"line: {line}")
    return Seen(stop.name, step_us, f'whose first finding, "{first.title}", {bound_of(first, doubt)}', doubt)


def say(text: str) -> None:
    print(textwrap.fill(text, 100, initial_indent="   ", subsequent_indent="      "))


def bound_of(finding: Finding, doubt: str) -> str:
    """As the report has it: of a step in the long run, which the window's mean step need not be."""
    if not finding.HasField("speedup"):
        return "has no bound"
    return f"may bring {finding.speedup:.2f}x at most{doubtful(doubt)}"


def doubtful(doubt: str) -> str:
    return f" (doubtful: {doubt})" if doubt else ""


def make_loader() -> DataLoader:
    """The baseline's, for ``PYTHONPATH=examples tb-dataplugin tune tour:make_loader --step-ms 10``, after a tour."""
    stop, paths = STOPS[0], sorted(Path("runs/tour/.data").glob("*.jpg"))
    if not paths:
        raise FileNotFoundError("runs/tour/.data has no photos yet: run `python examples/tour.py` first")
    dataset = Photos(paths, annotate.compose(stop.transforms()))
    return DataLoader(dataset, batch_size=16, num_workers=stop.workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdir", type=Path, default=Path("runs/tour"), help="each stop is a run below it")
    parser.add_argument("--photos", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=48, help="to record at each stop")
    options = parser.parse_args()

    warnings.filterwarnings("ignore", message="This DataLoader will create")  # more workers than cores is the story
    begin = time.monotonic()
    data = options.logdir / ".data"
    make_photos(data, options.photos)
    paths = sorted(data.glob("*.jpg"))
    before = None
    for number, stop in enumerate(STOPS):
        folder = options.logdir / f"{number}-{stop.name.replace(' ', '-')}"
        seen = tell(stop, run(stop, paths, folder, options.batch_size, options.steps), before)
        if stop.workers == STOPS[0].workers:  # the stop with more workers is a side road
            before = seen
    print(f"\n{time.monotonic() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
