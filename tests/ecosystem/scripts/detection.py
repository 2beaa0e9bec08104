"""Detection in the manner of torchvision's references: dictionaries of targets, a zipping collate, MetricLogger.log_every."""

import datetime
import json
import os
import sys
import time
from collections import defaultdict, deque

import torch
import torch.nn.functional as F
import torch.utils.data
from PIL import Image
from torchvision.transforms import functional as TF


class SmoothedValue:
    def __init__(self, window_size=20):
        self.deque = deque(maxlen=window_size)
        self.total = 0.0
        self.count = 0

    def update(self, value):
        self.deque.append(value)
        self.count += 1
        self.total += value

    @property
    def global_avg(self):
        return self.total / self.count


class MetricLogger:
    def __init__(self, delimiter="  "):
        self.meters = defaultdict(SmoothedValue)
        self.delimiter = delimiter

    def update(self, **kwargs):
        for k, v in kwargs.items():
            self.meters[k].update(v.item() if isinstance(v, torch.Tensor) else v)

    def __str__(self):
        return self.delimiter.join(f"{name}: {meter.global_avg:.10f}" for name, meter in self.meters.items())

    def log_every(self, iterable, print_freq, header=""):
        i = 0
        start_time = end = time.time()
        iter_time, data_time = SmoothedValue(), SmoothedValue()
        for obj in iterable:
            data_time.update(time.time() - end)
            yield obj
            iter_time.update(time.time() - end)
            if i % print_freq == 0 or i == len(iterable) - 1:
                print(f"{header} [{i}/{len(iterable)}] {self}")
            i += 1
            end = time.time()
        total = datetime.timedelta(seconds=int(time.time() - start_time))
        print(f"{header} Total time: {total} data {data_time.global_avg:.4f}", file=sys.stderr)


class ToTensor:
    def __call__(self, image, target):
        return TF.to_tensor(image), target


class RandomHorizontalFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image, target):
        if torch.rand(1) < self.p:
            image = TF.hflip(image)
            width = image.width
            target["boxes"][:, [0, 2]] = width - target["boxes"][:, [2, 0]]
        return image, target


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, target):
        for t in self.transforms:
            image, target = t(image, target)
        return image, target


class CocoDetection(torch.utils.data.Dataset):
    def __init__(self, img_folder, ann_file, transforms):
        with open(ann_file) as f:
            doc = json.load(f)
        self.root = img_folder
        self.images = doc["images"]
        self.anns = defaultdict(list)
        for ann in doc["annotations"]:
            self.anns[ann["image_id"]].append(ann)
        self._transforms = transforms

    def __getitem__(self, idx):
        info = self.images[idx]
        img = Image.open(os.path.join(self.root, info["file_name"])).convert("RGB")
        boxes = torch.as_tensor([a["bbox"] for a in self.anns[info["id"]]], dtype=torch.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        labels = torch.tensor([a["category_id"] for a in self.anns[info["id"]]], dtype=torch.int64)
        target = {"boxes": boxes, "labels": labels, "image_id": info["id"]}
        return self._transforms(img, target)

    def __len__(self):
        return len(self.images)


class TinyDetector(torch.nn.Module):
    """Returns a dictionary of losses in training, as torchvision's detectors do."""

    def __init__(self, num_classes):
        super().__init__()
        self.backbone = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten()
        )
        self.box_head = torch.nn.Linear(128, 4)
        self.cls_head = torch.nn.Linear(128, num_classes)

    def forward(self, images, targets):
        features = torch.cat([self.backbone(image[None]) for image in images])
        boxes = torch.stack([t["boxes"].mean(0) for t in targets]) / 128
        labels = torch.stack([t["labels"][0] for t in targets])
        return {
            "loss_classifier": F.cross_entropy(self.cls_head(features), labels),
            "loss_box_reg": F.smooth_l1_loss(self.box_head(features), boxes),
        }


def collate_fn(batch):
    return tuple(zip(*batch))  # noqa: B905


def train_one_epoch(model, optimizer, data_loader, device, epoch, print_freq):
    model.train()
    metric_logger = MetricLogger()
    lr_scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)
    for images, targets in metric_logger.log_every(data_loader, print_freq, f"Epoch: [{epoch}]"):
        images = [image.to(device) for image in images]
        targets = [{k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in t.items()} for t in targets]
        loss_dict = model(images, targets)
        losses = sum(loss for loss in loss_dict.values())
        optimizer.zero_grad()
        losses.backward()
        optimizer.step()
        lr_scheduler.step()
        metric_logger.update(loss=losses, **loss_dict)


def main():
    torch.manual_seed(1)
    device = torch.device("cpu")
    transforms = Compose([RandomHorizontalFlip(), ToTensor()])
    dataset = CocoDetection("data/coco/train2017", "data/coco/instances_train2017.json", transforms)
    train_sampler = torch.utils.data.RandomSampler(dataset)
    train_batch_sampler = torch.utils.data.BatchSampler(train_sampler, 2, drop_last=True)
    data_loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=train_batch_sampler, num_workers=2, collate_fn=collate_fn
    )
    model = TinyDetector(num_classes=4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    train_one_epoch(model, optimizer, data_loader, device, 0, 15)


if __name__ == "__main__":
    main()
