"""A word language model in the manner of pytorch/examples: batchify and get_batch over one tensor, and no DataLoader."""

import argparse
import math
import os

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description="RNN/LSTM/GRU language model")
parser.add_argument("--data", type=str, default="data", help="location of the data corpus")
parser.add_argument("--emsize", type=int, default=32)
parser.add_argument("--nhid", type=int, default=32)
parser.add_argument("--lr", type=float, default=5)
parser.add_argument("--clip", type=float, default=0.25)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=10)
parser.add_argument("--bptt", type=int, default=35)
parser.add_argument("--seed", type=int, default=1111)
args = parser.parse_args()
torch.manual_seed(args.seed)


class Corpus:
    def __init__(self, path):
        self.word2idx = {}
        self.train = self.tokenize(os.path.join(path, "wiki.train.txt"))

    def tokenize(self, path):
        ids = []
        with open(path, encoding="utf8") as f:
            for line in f:
                for word in [*line.split(), "<eos>"]:
                    ids.append(self.word2idx.setdefault(word, len(self.word2idx)))
        return torch.tensor(ids, dtype=torch.int64)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.encoder(tokens), hidden)
        return self.decoder(output).flatten(0, 1), hidden


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


corpus = Corpus(args.data)
train_data = batchify(corpus.train, args.batch_size)
model = RNNModel(len(corpus.word2idx), args.emsize, args.nhid)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, args.epochs + 1):
    model.train()
    total_loss = 0.0
    hidden = (torch.zeros(1, args.batch_size, args.nhid), torch.zeros(1, args.batch_size, args.nhid))
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-args.lr)
        total_loss += loss.item()
        if batch % 20 == 0:
            print(f"| epoch {epoch:3d} | {batch:5d} batches | loss {loss.item():.8f} | ppl {math.exp(loss.item()):.6f}")
    print(f"total {total_loss:.10f}")
