"""Workers started by spawn and kept over the epochs, as on Windows and macOS; files by numpy, cropping in the dataset."""

import multiprocessing as mp
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomPatches(Dataset):
    def __init__(self, root, patch):
        self.paths = sorted(Path(root).rglob("*.jpg"))
        self.patch = patch

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = np.asarray(Image.open(self.paths[index]).convert("L"), dtype=np.float32) / 255
        top, left = torch.randint(0, image.shape[0] - self.patch, (2,)).tolist()
        patch = image[top : top + self.patch, left : left + self.patch]
        noisy = patch + 0.1 * torch.randn(self.patch, self.patch).numpy()
        return noisy[None], patch[None]


def main():
    torch.manual_seed(0)
    loader = DataLoader(
        RandomPatches("data/images/train", 32),
        batch_size=4,
        shuffle=True,
        num_workers=2,
        multiprocessing_context=mp.get_context("spawn"),
        persistent_workers=True,
    )
    net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(2):
        total = 0.0
        for noisy, clean in loader:
            loss = nn.functional.l1_loss(net(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.12f}")


if __name__ == "__main__":
    main()
