"""A character model in the manner of minGPT: a Trainer that draws from an endless iterator and restarts it when it ends."""

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import Dataset
from torch.utils.data.dataloader import DataLoader


class CharDataset(Dataset):
    """Emits blocks of characters"""

    def __init__(self, data, block_size):
        chars = sorted(set(data))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.vocab_size = len(chars)
        self.block_size = block_size
        self.data = data

    def __len__(self):
        return len(self.data) - self.block_size

    def __getitem__(self, idx):
        chunk = self.data[idx : idx + self.block_size + 1]
        dix = [self.stoi[s] for s in chunk]
        return torch.tensor(dix[:-1], dtype=torch.long), torch.tensor(dix[1:], dtype=torch.long)


class CharRNN(nn.Module):
    def __init__(self, vocab_size, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab_size)

    def forward(self, idx, targets):
        logits = self.head(self.gru(self.embed(idx))[0])
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


class Trainer:
    def __init__(self, model, train_dataset, max_iters, batch_size, num_workers):
        self.model = model
        self.train_dataset = train_dataset
        self.max_iters = max_iters
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.callbacks = {}
        self.iter_num = 0
        self.loss = None

    def set_callback(self, onevent, callback):
        self.callbacks[onevent] = [callback]

    def trigger_callbacks(self, onevent):
        for callback in self.callbacks.get(onevent, []):
            callback(self)

    def run(self):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=5e-4)
        train_loader = DataLoader(
            self.train_dataset,
            sampler=torch.utils.data.RandomSampler(self.train_dataset, replacement=True, num_samples=800),
            shuffle=False,
            batch_size=self.batch_size,
            num_workers=self.num_workers,
        )
        self.model.train()
        self.iter_num = 0
        data_iter = iter(train_loader)
        while True:
            try:
                batch = next(data_iter)
            except StopIteration:
                data_iter = iter(train_loader)
                batch = next(data_iter)
            x, y = batch
            _, self.loss = self.model(x, y)
            self.model.zero_grad(set_to_none=True)
            self.loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            self.trigger_callbacks("on_batch_end")
            self.iter_num += 1
            if self.iter_num >= self.max_iters:
                break


def batch_end_callback(trainer):
    if trainer.iter_num % 10 == 0:
        print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.10f}")


if __name__ == "__main__":
    torch.manual_seed(3407)
    with open("data/wiki.train.txt") as text_file:
        text = text_file.read()
    train_dataset = CharDataset(text, block_size=48)
    trainer = Trainer(CharRNN(train_dataset.vocab_size), train_dataset, max_iters=80, batch_size=16, num_workers=2)
    trainer.set_callback("on_batch_end", batch_end_callback)
    trainer.run()
