"""Accelerate, in the manner of its cv_example: prepare() of everything, gather_for_metrics, a OneCycle schedule."""

import argparse
import os
import re

import numpy as np
import PIL
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import Compose, RandomResizedCrop, Resize, ToTensor


def extract_label(fname):
    stem = fname.split(os.path.sep)[-1]
    return re.search(r"^(.*)\.\d+\.jpg$", stem).groups()[0]


class PetsDataset(Dataset):
    def __init__(self, file_names, image_transform=None, label_to_id=None):
        self.file_names = file_names
        self.image_transform = image_transform
        self.label_to_id = label_to_id

    def __len__(self):
        return len(self.file_names)

    def __getitem__(self, idx):
        fname = self.file_names[idx]
        raw_image = PIL.Image.open(fname)
        image = raw_image.convert("RGB")
        if self.image_transform is not None:
            image = self.image_transform(image)
        label = extract_label(fname)
        if self.label_to_id is not None:
            label = self.label_to_id[label]
        return {"image": image, "label": label}


def training_function(config, args):
    accelerator = Accelerator(cpu=True)
    set_seed(config["seed"])
    file_names = sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(args.data_dir)
        for name in names
        if name.endswith(".jpg")
    )
    labels = sorted({extract_label(fname) for fname in file_names})
    label_to_id = {lbl: i for i, lbl in enumerate(labels)}
    random_perm = np.random.permutation(len(file_names))
    cut = int(0.8 * len(file_names))
    size = (48, 48)
    train_dataset = PetsDataset(
        [file_names[i] for i in random_perm[:cut]],
        Compose([RandomResizedCrop(size, scale=(0.5, 1.0)), ToTensor()]),
        label_to_id,
    )
    eval_dataset = PetsDataset(
        [file_names[i] for i in random_perm[cut:]], Compose([Resize(size), ToTensor()]), label_to_id
    )
    train_dataloader = DataLoader(train_dataset, shuffle=True, batch_size=config["batch_size"], num_workers=2)
    eval_dataloader = DataLoader(eval_dataset, shuffle=False, batch_size=config["batch_size"], num_workers=2)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 5, 4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(len(labels))
    )
    model(torch.zeros(1, 3, *size))
    optimizer = torch.optim.Adam(params=model.parameters(), lr=config["lr"] / 25)
    lr_scheduler = OneCycleLR(
        optimizer=optimizer, max_lr=config["lr"], epochs=config["num_epochs"], steps_per_epoch=len(train_dataloader)
    )
    model, optimizer, train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, lr_scheduler
    )
    for epoch in range(config["num_epochs"]):
        model.train()
        total_loss = 0
        for _step, batch in enumerate(train_dataloader):
            loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
            total_loss += loss.detach().float()
            accelerator.backward(loss)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
        model.eval()
        accurate = num_elems = 0
        for _step, batch in enumerate(eval_dataloader):
            with torch.no_grad():
                outputs = model(batch["image"])
            predictions, references = accelerator.gather_for_metrics((outputs.argmax(dim=-1), batch["label"]))
            accurate_preds = predictions == references
            num_elems += accurate_preds.shape[0]
            accurate += accurate_preds.long().sum()
        accelerator.print(f"epoch {epoch}: {100 * accurate.item() / num_elems:.2f} loss {total_loss.item():.10f}")


def main():
    parser = argparse.ArgumentParser(description="Simple example of training script.")
    parser.add_argument("--data_dir", default="data/images/train", help="The data folder on disk.")
    args = parser.parse_args()
    training_function({"lr": 3e-2, "num_epochs": 2, "seed": 42, "batch_size": 4}, args)


if __name__ == "__main__":
    main()
