"""The one line: annotate an existing DataLoader, and record a few steps of its training loop.

python examples/one_line.py --logdir runs
tb-dataplugin report runs/one-line
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

import annotate


class Noise(Dataset):
    """Stands for a dataset that you already have."""

    def __init__(self, size: int, transform):
        self.size = size
        self.transform = transform

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.transform(torch.randn(3, 64, 64)), index % 10


class Blur:
    """Slow on purpose."""

    def __call__(self, image):
        for _ in range(4):
            image = torch.nn.functional.avg_pool2d(image[None], 5, stride=1, padding=2)[0]
        return image


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logdir", type=Path, default=Path("runs"))
    logdir = parser.parse_args().logdir / "one-line"

    loader = DataLoader(Noise(960, transform=Blur()), batch_size=32, shuffle=True)
    loader = annotate.loader(loader)  # the one line

    model = torch.nn.Linear(3 * 64 * 64, 10)
    with annotate.profile(logdir, wait=2, warmup=1, active=10) as prof:
        for images, labels in prof.steps(loader):
            torch.nn.functional.cross_entropy(model(images.flatten(1)), labels).backward()
    print(f"wrote {prof.trace_files[0]}")


if __name__ == "__main__":
    main()
