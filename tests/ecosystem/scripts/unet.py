"""A U-Net in the manner of the well-known repositories of it: argparse, logging, tqdm, random_split, evaluation mid-epoch."""

import argparse
import logging
from os import listdir
from os.path import splitext
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch import optim
from torch.utils.data import DataLoader, Dataset, random_split
from tqdm import tqdm

dir_img = Path("./data/carvana/imgs/")
dir_mask = Path("./data/carvana/masks/")
dir_checkpoint = Path("./checkpoints/")


class CarvanaDataset(Dataset):
    def __init__(self, images_dir, mask_dir, scale=1.0, mask_suffix="_mask"):
        self.images_dir = Path(images_dir)
        self.mask_dir = Path(mask_dir)
        self.scale = scale
        self.mask_suffix = mask_suffix
        self.ids = sorted(splitext(file)[0] for file in listdir(images_dir) if not file.startswith("."))
        logging.info(f"Creating dataset with {len(self.ids)} examples")

    def __len__(self):
        return len(self.ids)

    @staticmethod
    def preprocess(pil_img, scale, is_mask):
        w, h = pil_img.size
        new_w, new_h = int(scale * w), int(scale * h)
        pil_img = pil_img.resize((new_w, new_h), resample=Image.NEAREST if is_mask else Image.BICUBIC)
        img = np.asarray(pil_img)
        if is_mask:
            return (img > 127).astype(np.int64)
        return img.transpose((2, 0, 1)) / 255.0

    def __getitem__(self, idx):
        name = self.ids[idx]
        mask_file = list(self.mask_dir.glob(name + self.mask_suffix + ".*"))
        img_file = list(self.images_dir.glob(name + ".*"))
        assert len(img_file) == 1 and len(mask_file) == 1
        mask = Image.open(mask_file[0])
        img = Image.open(img_file[0])
        return {
            "image": torch.as_tensor(self.preprocess(img, self.scale, is_mask=False).copy()).float().contiguous(),
            "mask": torch.as_tensor(self.preprocess(mask, self.scale, is_mask=True).copy()).long().contiguous(),
        }


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.inc = double_conv(n_channels, 8)
        self.down = nn.Sequential(nn.MaxPool2d(2), double_conv(8, 16))
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv = double_conv(16, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        return self.outc(self.conv(torch.cat([x1, self.up(self.down(x1))], 1)))


@torch.inference_mode()
def evaluate(net, dataloader):
    net.eval()
    score = 0
    for batch in tqdm(dataloader, total=len(dataloader), desc="Validation round", unit="batch", leave=False):
        score += F.cross_entropy(net(batch["image"]), batch["mask"])
    net.train()
    return score / max(len(dataloader), 1)


def train_model(model, epochs, batch_size, learning_rate, val_percent, img_scale):
    dataset = CarvanaDataset(dir_img, dir_mask, img_scale)
    n_val = int(len(dataset) * val_percent)
    n_train = len(dataset) - n_val
    train_set, val_set = random_split(dataset, [n_train, n_val], generator=torch.Generator().manual_seed(0))
    loader_args = {"batch_size": batch_size, "num_workers": 2, "pin_memory": False}
    train_loader = DataLoader(train_set, shuffle=True, **loader_args)
    val_loader = DataLoader(val_set, shuffle=False, drop_last=True, **loader_args)
    logging.info(f"Starting training: {epochs} epochs, batch size {batch_size}, {n_train} for training, {n_val} not")
    optimizer = optim.RMSprop(model.parameters(), lr=learning_rate, weight_decay=1e-8, momentum=0.9)
    global_step = 0
    for epoch in range(1, epochs + 1):
        model.train()
        epoch_loss = 0
        with tqdm(total=n_train, desc=f"Epoch {epoch}/{epochs}", unit="img") as pbar:
            for batch in train_loader:
                images, true_masks = batch["image"], batch["mask"]
                loss = F.cross_entropy(model(images), true_masks)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                pbar.update(images.shape[0])
                global_step += 1
                epoch_loss += loss.item()
                pbar.set_postfix(**{"loss (batch)": loss.item()})
                if global_step % 15 == 0:
                    val_score = evaluate(model, val_loader)
                    logging.info(f"Validation score: {val_score}")
                    print(f"step {global_step} validation {val_score.item():.10f}")
        dir_checkpoint.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), str(dir_checkpoint / f"checkpoint_epoch{epoch}.pth"))
        print(f"epoch {epoch} loss {epoch_loss:.10f}")


def get_args():
    parser = argparse.ArgumentParser(description="Train the UNet on images and target masks")
    parser.add_argument("--epochs", "-e", metavar="E", type=int, default=2, help="Number of epochs")
    parser.add_argument("--batch-size", "-b", dest="batch_size", metavar="B", type=int, default=4)
    parser.add_argument("--learning-rate", "-l", metavar="LR", type=float, default=1e-5, dest="lr")
    parser.add_argument("--scale", "-s", type=float, default=0.5)
    parser.add_argument("--validation", "-v", dest="val", type=float, default=10.0)
    return parser.parse_args()


if __name__ == "__main__":
    args = get_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    torch.manual_seed(0)
    train_model(UNet(3, 2), args.epochs, args.batch_size, args.lr, args.val / 100, args.scale)
