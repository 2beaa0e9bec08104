"""Gradient accumulation under bfloat16 autocast on the CPU, with a scaler that does nothing there, clipping and warm-up."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

ACCUMULATION_STEPS = 4
EPOCHS = 2


def get_transform(train):
    transforms = []
    if train:
        transforms += [v2.RandomResizedCrop(size=(48, 48), antialias=True), v2.RandomHorizontalFlip(p=0.5)]
    else:
        transforms += [v2.Resize(size=(48, 48), antialias=True)]
    return v2.Compose([v2.ToImage(), *transforms, v2.ToDtype(torch.float32, scale=True)])


def train(model, loader, optimizer, scheduler, scaler, criterion, epoch):
    model.train()
    optimizer.zero_grad(set_to_none=True)
    updates = 0
    for i, (inputs, labels) in enumerate(loader):
        inputs = inputs.to(memory_format=torch.channels_last)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = criterion(model(inputs), labels) / ACCUMULATION_STEPS
        scaler.scale(loss).backward()
        if (i + 1) % ACCUMULATION_STEPS == 0 or (i + 1) == len(loader):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
            updates += 1
            print(f"epoch {epoch} update {updates} loss {loss.item() * ACCUMULATION_STEPS:.8f}")


if __name__ == "__main__":
    torch.manual_seed(21)
    dataset = datasets.ImageFolder("data/images/train", transform=get_transform(train=True))
    loader = DataLoader(dataset, batch_size=3, shuffle=True, num_workers=2, persistent_workers=True)
    model = nn.Sequential(nn.Conv2d(3, 8, 5, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 3))
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for epoch in range(EPOCHS):
        train(model, loader, optimizer, scheduler, scaler, nn.CrossEntropyLoss(label_smoothing=0.1), epoch)
