"""webdataset, in the manner of its ImageNet example: WebDataset, decode, to_tuple, map_tuple, batched in the worker, WebLoader."""

import random

import torch
import webdataset as wds
from torch import nn
from torchvision import transforms


def enumerate_report(seq, delta):
    for i, sample in enumerate(seq):
        if i % delta == 0:
            print(f"batch {i}")
        yield i, sample


def identity(x):
    return x


def make_loader(urls, batch_size, num_workers):
    transform = transforms.Compose(
        [transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    )
    dataset = (
        wds.WebDataset(urls, shardshuffle=False, workersplitter=wds.split_by_worker)
        .shuffle(20, rng=random.Random(3))
        .decode("pil")
        .to_tuple("jpg;png", "cls")
        .map_tuple(transform, identity)
        .batched(batch_size, partial=False)
    )
    return wds.WebLoader(dataset, batch_size=None, shuffle=False, num_workers=num_workers)


def main():
    torch.manual_seed(0)
    loader = make_loader("data/shards/train-{0000..0003}.tar", batch_size=4, num_workers=2)
    model = nn.Sequential(nn.Conv2d(3, 8, 5, 4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_fn = nn.CrossEntropyLoss()
    losses = []
    for _i, (images, targets) in enumerate_report(loader, 10):
        optimizer.zero_grad()
        loss = loss_fn(model(images), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"{len(losses)} batches, loss {sum(losses) / len(losses):.12f}")


if __name__ == "__main__":
    main()
