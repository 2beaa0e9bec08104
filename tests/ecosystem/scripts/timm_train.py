"""Image classification with timm's own factories for dataset, loader, model, optimizer and schedule."""

import argparse
import logging

import torch
import torch.nn as nn
from timm.data import create_dataset, create_loader
from timm.models import create_model
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import AverageMeter, accuracy, random_seed, setup_default_logging

_logger = logging.getLogger("train")

parser = argparse.ArgumentParser(description="PyTorch ImageNet Training")
parser.add_argument("--data-dir", default="data/images", metavar="DIR")
parser.add_argument("--model", default="test_vit", type=str, metavar="MODEL")
parser.add_argument("-b", "--batch-size", type=int, default=4)
parser.add_argument("-j", "--workers", type=int, default=2)
parser.add_argument("--img-size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--lr", type=float, default=1e-3)


def train_one_epoch(epoch, model, loader, optimizer, loss_fn, lr_scheduler):
    losses_m = AverageMeter()
    model.train()
    num_updates = epoch * len(loader)
    optimizer.zero_grad()
    for batch_idx, (input_, target) in enumerate(loader):
        output = model(input_)
        loss = loss_fn(output, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses_m.update(loss.item(), input_.size(0))
        num_updates += 1
        if batch_idx % 10 == 0:
            _logger.info(f"Train: {epoch} [{batch_idx:>4d}/{len(loader)}] Loss: {losses_m.val:#.3g}")
            print(f"train {epoch} {batch_idx} {losses_m.avg:.10f}")
        lr_scheduler.step_update(num_updates=num_updates, metric=losses_m.avg)


def validate(model, loader):
    top1_m = AverageMeter()
    model.eval()
    with torch.inference_mode():
        for input_, target in loader:
            acc1 = accuracy(model(input_), target, topk=(1,))[0]
            top1_m.update(acc1.item(), input_.size(0))
    return top1_m.avg


def main():
    setup_default_logging()
    args = parser.parse_args()
    random_seed(42, 0)
    model = create_model(args.model, pretrained=False, num_classes=3, img_size=args.img_size)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=args.lr, weight_decay=0.05)
    scheduler, _ = create_scheduler_v2(optimizer, sched="cosine", num_epochs=args.epochs, step_on_epochs=True)
    dataset_train = create_dataset("", root=args.data_dir, split="train", is_training=True, batch_size=args.batch_size)
    dataset_eval = create_dataset("", root=args.data_dir, split="validation", is_training=False)
    common = {
        "input_size": (3, args.img_size, args.img_size),
        "batch_size": args.batch_size,
        "num_workers": args.workers,
        "device": torch.device("cpu"),
        "pin_memory": False,
    }
    loader_train = create_loader(
        dataset_train, is_training=True, re_prob=0.25, auto_augment="rand-m9-mstd0.5-inc1", **common
    )
    loader_eval = create_loader(dataset_eval, is_training=False, **common)
    for epoch in range(args.epochs):
        train_one_epoch(epoch, model, loader_train, optimizer, nn.CrossEntropyLoss(), scheduler)
        print(f"eval {epoch} {validate(model, loader_eval):.6f}")
        scheduler.step(epoch + 1)


if __name__ == "__main__":
    main()
