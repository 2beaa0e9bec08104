"""A small image pipeline with a slow stage in it: which one is it?

    python examples/demo.py --logdir runs
    tb-dataplugin report runs --summary
    tb-dataplugin report runs/demo-train
    tensorboard --logdir runs

JPEG files of 533x800 are read, decoded, cropped, masked, converted and scaled in DataLoader workers, and a small CNN
trains on them, on a GPU if there is one. Two traces are written: `demo-replay`, a few batches of the loader without the
training, and `demo-train`, a few steps of the training loop: the newest, so TensorBoard opens there. Beside them stand
traces of a ResNet-50 on GPUs (`gpu`), so that there are idle gaps of a device to look at: one on an H100, recorded with
`annotate`, and two on a V100, by torch's profiler alone (from kineto's samples, BSD-3-Clause).
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw
from scipy.signal import convolve2d
from torch import nn
from torch.utils.data import DataLoader, Dataset

import annotate

if __package__ in (None, ""):
    import torchvision_cpu  # noqa: F401  (only needed where torchvision lacks its compiled part)
from torchvision import transforms as T  # noqa: N812

HEIGHT, WIDTH, CROP = 533, 800, 256
WORKERS = 2
REAL = Path(__file__).resolve().parents[1] / "tests" / "golden" / "traces"
LICENCE = "LICENSE.kineto"
GPU_CAPTURES = {
    "v100_resnet50_workers0.pt.trace.json.gz": 1623142624,
    "v100_resnet50_workers4.pt.trace.json.gz": 1623212389,
    "h100_resnet50_workers4.pt.trace.json.gz": 1795703063,
}
"""When each was recorded, by its own timestamps."""


class Photos(Dataset):
    """The JPEG files of a folder. PIL opens a file here, and decodes it in the first transform that needs pixels."""

    def __init__(self, folder: Path, transform):
        self.paths = sorted(folder.glob("*.jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return self.transform(Image.open(file)), index % 10


class RandomMask:
    """Blackens random blots. The dilation that makes blots of random points is the slow stage of this pipeline."""

    def __init__(self, share: float = 0.002, blot: int = 9):
        self.share = share
        self.structure = np.ones((blot, blot), dtype=np.float32)

    def __call__(self, image):
        points = torch.rand(image.shape[-2:]).numpy() < self.share
        blots = convolve2d(points.astype(np.float32), self.structure, mode="same") > 0
        return image * torch.from_numpy(~blots)


class ConvertColor:
    """RGB to YCbCr by a matrix product."""

    def __init__(self):
        self.matrix = torch.tensor([[0.299, 0.587, 0.114], [-0.169, -0.331, 0.5], [0.5, -0.419, -0.081]])

    def __call__(self, image):
        channels, height, width = image.shape
        return (self.matrix @ image.reshape(channels, -1).float()).reshape(3, height, width)


class Scale:
    """0..255 to -1..1."""

    def __call__(self, image):
        return image / 127.5 - 1.0


def make_photos(folder: Path, count: int) -> None:
    """Write `count` JPEG files that look enough like photos to decode like photos; those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        path = folder / f"{number:04d}.jpg"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        image = Image.fromarray(rng.integers(0, 255, (9, 13, 3), dtype=np.uint8)).resize((WIDTH, HEIGHT), Image.BICUBIC)
        draw = ImageDraw.Draw(image)
        for _ in range(12):
            x, y, w, h = (int(v) for v in rng.integers((0, 0, 20, 20), (WIDTH, HEIGHT, 200, 200)))
            draw.ellipse((x, y, x + w, y + h), fill=tuple(int(v) for v in rng.integers(0, 255, 3)))
        grain = rng.normal(0, 8, (HEIGHT, WIDTH, 3))
        pixels = np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8)
        unfinished = path.with_suffix(".part")
        Image.fromarray(pixels).save(unfinished, format="JPEG", quality=90)
        unfinished.replace(path)


def make_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 7, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def make_loader(folder: Path, batch_size: int, workers: int) -> DataLoader:
    pipeline = annotate.compose([T.PILToTensor(), T.RandomCrop(CROP), RandomMask(), ConvertColor(), Scale()])
    dataset = Photos(folder, transform=pipeline)
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=workers, drop_last=True)
    return annotate.loader(loader)


def train(loader: DataLoader, logdir: Path, steps: int, headspace: int = 0) -> str:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with annotate.profile(logdir, wait=1, warmup=1, active=steps, headspace=headspace) as prof:
        for images, labels in prof.steps(loader):
            with annotate.stage("h2d"):
                images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if prof.step_num == steps + 2 and not headspace:
                break
    return prof.trace_files[0]


def demo_loader() -> DataLoader:
    """For `python -m annotate replay demo:demo_loader`, in this folder, after the demo has run."""
    folder = Path(__file__).parents[1] / "runs" / ".data"
    make_photos(folder, 200)
    return make_loader(folder, batch_size=16, workers=WORKERS)


def add_gpu_captures(logdir: Path) -> None:
    """Copy real traces of a GPU, with their licence and the time at which they were recorded, below `logdir`."""
    logdir.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(REAL / LICENCE, logdir / LICENCE)
    for name, recorded in GPU_CAPTURES.items():
        shutil.copyfile(REAL / name, logdir / name)
        os.utime(logdir / name, (recorded, recorded))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdir", type=Path, default=Path("runs"), help="the two runs are written below it")
    parser.add_argument("--data", type=Path, help="folder of the JPEG files (default: LOGDIR/.data)")
    parser.add_argument("--photos", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=10, help="training steps to record")
    parser.add_argument("--batches", type=int, default=8, help="batches to replay")
    parser.add_argument("--workers", type=int, default=WORKERS, help=f"DataLoader workers (default: {WORKERS})")
    help_headspace = "steps on copies of batches: what the loop could do without its loader (default: 0, none)"
    parser.add_argument("--headspace", type=int, default=0, help=help_headspace)
    help_gpu = "also copy three real traces of GPUs to LOGDIR/gpu (default)"
    parser.add_argument("--gpu-captures", action=argparse.BooleanOptionalAction, default=True, help=help_gpu)
    options = parser.parse_args()

    torch.manual_seed(0)
    data = options.data or options.logdir / ".data"
    make_photos(data, options.photos)
    loader = make_loader(data, options.batch_size, options.workers)
    if options.gpu_captures:
        add_gpu_captures(options.logdir / "gpu")
    print(f"Replay: {options.batches} batches of the loader, without workers or training ...")
    annotate.replay(loader, options.logdir / "demo-replay", options.batches, progress=False)
    print(f"Training: {options.steps} steps are recorded ...")
    train(loader, options.logdir / "demo-train", options.steps, options.headspace)


if __name__ == "__main__":
    main()
