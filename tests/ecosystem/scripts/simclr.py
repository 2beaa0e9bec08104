"""Contrastive learning: two views of each picture, a cosine schedule, the InfoNCE loss, as in the common SimCLR code."""

import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import datasets, transforms


class ContrastiveLearningViewGenerator:
    """Take two random crops of one image as the query and key."""

    def __init__(self, base_transform, n_views=2):
        self.base_transform = base_transform
        self.n_views = n_views

    def __call__(self, x):
        return [self.base_transform(x) for _ in range(self.n_views)]


def get_simclr_pipeline_transform(size, s=1):
    color_jitter = transforms.ColorJitter(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s)
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(size=size),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([color_jitter], p=0.8),
            transforms.RandomGrayscale(p=0.2),
            transforms.GaussianBlur(kernel_size=5),
            transforms.ToTensor(),
        ]
    )


class SimCLR:
    def __init__(self, args, model, optimizer, scheduler):
        self.args = args
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.criterion = torch.nn.CrossEntropyLoss()

    def info_nce_loss(self, features):
        batch = features.shape[0] // 2
        labels = torch.cat([torch.arange(batch) for _ in range(2)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        features = F.normalize(features, dim=1)
        similarity = features @ features.T
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels = labels[~mask].view(labels.shape[0], -1)
        similarity = similarity[~mask].view(similarity.shape[0], -1)
        positives = similarity[labels.bool()].view(labels.shape[0], -1)
        negatives = similarity[~labels.bool()].view(similarity.shape[0], -1)
        logits = torch.cat([positives, negatives], dim=1)
        return logits / self.args.temperature, torch.zeros(logits.shape[0], dtype=torch.long)

    def train(self, train_loader):
        n_iter = 0
        for epoch_counter in range(self.args.epochs):
            for images, _ in train_loader:
                images = torch.cat(images, dim=0)
                logits, labels = self.info_nce_loss(self.model(images))
                loss = self.criterion(logits, labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                if n_iter % 10 == 0:
                    print(f"iter {n_iter} loss {loss.item():.10f} lr {self.scheduler.get_last_lr()[0]}")
                n_iter += 1
            self.scheduler.step()
            logging.debug(f"Epoch: {epoch_counter}\tLoss: {loss}")


def main():
    parser = argparse.ArgumentParser(description="PyTorch SimCLR")
    parser.add_argument("-data", metavar="DIR", default="data/images/train")
    parser.add_argument("--epochs", default=2, type=int)
    parser.add_argument("-b", "--batch-size", default=6, type=int)
    parser.add_argument("--temperature", default=0.07, type=float)
    args = parser.parse_args()
    torch.manual_seed(2)
    view = ContrastiveLearningViewGenerator(get_simclr_pipeline_transform(32))
    train_loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(args.data, transform=view),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=2,
        drop_last=True,
    )
    model = nn.Sequential(nn.Conv2d(3, 8, 5, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 16))
    optimizer = torch.optim.Adam(model.parameters(), 3e-4, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(train_loader))
    SimCLR(args, model, optimizer, scheduler).train(train_loader)


if __name__ == "__main__":
    main()
