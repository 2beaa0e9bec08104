"""DistributedDataParallel over gloo, for `torchrun --nproc_per_node 2 ddp.py`: a Trainer class, a DistributedSampler, snapshots."""

import argparse
import os

import torch
import torch.nn.functional as F
from torch.distributed import destroy_process_group, init_process_group
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def ddp_setup():
    init_process_group(backend="gloo")


class MyTrainDataset(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        x = torch.rand(3, 32, 32, generator=generator)
        x = F.avg_pool2d(F.interpolate(x[None], scale_factor=2, mode="bilinear"), 4)[0]
        return x.flatten()[:20], x.mean()[None]


class Trainer:
    def __init__(self, model, train_data, optimizer, save_every, snapshot_path):
        self.global_rank = int(os.environ["RANK"])
        self.model = DDP(model)
        self.train_data = train_data
        self.optimizer = optimizer
        self.save_every = save_every
        self.epochs_run = 0
        self.snapshot_path = snapshot_path

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        losses = [self._run_batch(source, targets) for source, targets in self.train_data]
        total = torch.tensor(sum(losses))
        torch.distributed.all_reduce(total)
        if self.global_rank == 0:
            print(f"Epoch {epoch} | Steps: {len(losses)} | loss {total.item():.10f}")

    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            if self.global_rank == 0 and epoch % self.save_every == 0:
                torch.save({"MODEL_STATE": self.model.module.state_dict(), "EPOCHS_RUN": epoch}, self.snapshot_path)


def main(save_every, total_epochs, batch_size):
    ddp_setup()
    torch.manual_seed(0)
    dataset = MyTrainDataset(512)
    train_data = DataLoader(
        dataset, batch_size=batch_size, shuffle=False, num_workers=1, sampler=DistributedSampler(dataset)
    )
    model = torch.nn.Linear(20, 1)
    trainer = Trainer(model, train_data, torch.optim.SGD(model.parameters(), lr=1e-2), save_every, "snapshot.pt")
    trainer.train(total_epochs)
    destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="simple distributed training job")
    parser.add_argument("--total_epochs", type=int, default=2)
    parser.add_argument("--save_every", type=int, default=1)
    parser.add_argument("--batch_size", default=4, type=int)
    args = parser.parse_args()
    main(args.save_every, args.total_epochs, args.batch_size)
