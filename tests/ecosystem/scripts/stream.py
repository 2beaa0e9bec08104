"""Streaming from gzipped JSON lines: an IterableDataset that splits the shards by worker and shuffles in a buffer."""

import glob
import gzip
import json
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class JsonlStream(IterableDataset):
    def __init__(self, pattern, transform, buffer_size=32, seed=0):
        super().__init__()
        self.files = sorted(glob.glob(pattern))
        self.transform = transform
        self.buffer_size = buffer_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _lines(self):
        info = get_worker_info()
        worker_id, num_workers = (info.id, info.num_workers) if info is not None else (0, 1)
        for path in self.files[worker_id::num_workers]:
            with gzip.open(path, "rt") as f:
                for line in f:
                    yield json.loads(line)

    def _shuffled(self, rows):
        rng = random.Random(self.seed + self.epoch)
        buffer = []
        for row in rows:
            if len(buffer) < self.buffer_size:
                buffer.append(row)
                continue
            i = rng.randrange(self.buffer_size)
            yield buffer[i]
            buffer[i] = row
        rng.shuffle(buffer)
        yield from buffer

    def __iter__(self):
        for row in self._shuffled(self._lines()):
            yield self.transform(row)


class HashingVectorizer:
    def __init__(self, dim):
        self.dim = dim

    def __call__(self, row):
        vector = torch.zeros(self.dim)
        for word in row["text"].split():
            vector[sum(map(ord, word)) % self.dim] += 1.0
        return vector, torch.tensor(row["score"])


def main():
    torch.manual_seed(0)
    dataset = JsonlStream("data/stream-*.jsonl.gz", HashingVectorizer(64))
    loader = DataLoader(dataset, batch_size=8, num_workers=2, prefetch_factor=4)
    model = nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        dataset.set_epoch(epoch)
        running = 0.0
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x).squeeze(-1), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
            if step % 20 == 19:
                print(f"epoch {epoch} step {step} loss {running / 20:.10f}")
                running = 0.0


if __name__ == "__main__":
    main()
