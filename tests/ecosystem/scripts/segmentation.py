"""Binary segmentation with albumentations and OpenCV, as in the notebooks of that library: metric monitor, params dict."""

import glob
import os
import random

import albumentations as A
import cv2
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

params = {"lr": 0.01, "batch_size": 4, "num_workers": 2, "epochs": 2}


class OxfordPetDataset(Dataset):
    def __init__(self, images_filenames, images_directory, masks_directory, transform=None):
        self.images_filenames = images_filenames
        self.images_directory = images_directory
        self.masks_directory = masks_directory
        self.transform = transform

    def __len__(self):
        return len(self.images_filenames)

    def __getitem__(self, idx):
        image_filename = self.images_filenames[idx]
        image = cv2.imread(os.path.join(self.images_directory, image_filename))
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        mask_filename = image_filename.replace(".jpg", "_mask.png")
        mask = cv2.imread(os.path.join(self.masks_directory, mask_filename), cv2.IMREAD_UNCHANGED)
        mask = (mask > 127).astype(np.float32)
        if self.transform is not None:
            transformed = self.transform(image=image, mask=mask)
            image = transformed["image"]
            mask = transformed["mask"]
        return torch.from_numpy(image.transpose(2, 0, 1)).float(), torch.from_numpy(mask)


def seed_worker(worker_id):
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def train(train_loader, model, criterion, optimizer, epoch):
    total = 0.0
    model.train()
    for _i, (images, target) in enumerate(train_loader, start=1):
        output = model(images).squeeze(1)
        loss = criterion(output, target)
        total += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch: {epoch}. Train. Loss: {total / len(train_loader):.12f}")


def main():
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)
    images = sorted(os.path.basename(p) for p in glob.glob("data/carvana/imgs/*.jpg"))
    train_transform = A.Compose(
        [
            A.HorizontalFlip(p=0.5),
            A.RandomBrightnessContrast(p=0.5),
            A.Resize(64, 64),
            A.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
        ],
        seed=7,
    )
    dataset = OxfordPetDataset(images, "data/carvana/imgs", "data/carvana/masks", transform=train_transform)
    train_loader = DataLoader(
        dataset,
        batch_size=params["batch_size"],
        shuffle=True,
        num_workers=params["num_workers"],
        worker_init_fn=seed_worker,
        pin_memory=False,
    )
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=params["lr"])
    for epoch in range(1, params["epochs"] + 1):
        train(train_loader, model, nn.BCEWithLogitsLoss(), optimizer, epoch)


if __name__ == "__main__":
    main()
