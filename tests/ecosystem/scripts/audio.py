"""Speech commands with soundfile: a metadata file, a spectrogram in the dataset, an M5-like network, pad_sequence in collate."""

import argparse
import csv
import os

import numpy as np
import soundfile as sf
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class LogSpectrogram:
    def __init__(self, n_fft=256, hop_length=128):
        self.n_fft = n_fft
        self.hop_length = hop_length

    def __call__(self, waveform):
        window = torch.hann_window(self.n_fft)
        spec = torch.stft(waveform, self.n_fft, self.hop_length, window=window, return_complex=True)
        return torch.log1p(spec.abs())


class SpeechDataset(Dataset):
    def __init__(self, root, transform=None):
        self.root = root
        self.transform = transform
        with open(os.path.join(root, "metadata.csv")) as f:
            self.items = [(row["filename"], int(row["label"])) for row in csv.DictReader(f)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, n):
        name, label = self.items[n]
        data, _samplerate = sf.read(os.path.join(self.root, name), dtype="float32")
        shift = np.random.RandomState(n).randint(0, 2000)
        waveform = torch.from_numpy(data[shift:].copy())
        return self.transform(waveform), label


def collate_fn(batch):
    specs = [spec.t() for spec, _ in batch]
    lengths = torch.tensor([s.shape[0] for s in specs])
    return pad_sequence(specs, batch_first=True), lengths, torch.tensor([label for _, label in batch])


class M5(nn.Module):
    def __init__(self, n_freq=129, n_class=4):
        super().__init__()
        self.conv1 = nn.Conv1d(n_freq, 16, 5)
        self.bn1 = nn.BatchNorm1d(16)
        self.fc = nn.Linear(16, n_class)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x.transpose(1, 2))))
        return F.log_softmax(self.fc(x.mean(-1)), dim=-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data/speech")
    parser.add_argument("--batch-size", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(5)
    loader = DataLoader(
        SpeechDataset(args.root, transform=LogSpectrogram()),
        batch_size=args.batch_size,
        shuffle=True,
        collate_fn=collate_fn,
        num_workers=2,
    )
    model = M5()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.0001)
    for epoch in range(2):
        for batch_idx, (data, _lengths, target) in enumerate(loader):
            loss = F.nll_loss(model(data), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if batch_idx % 10 == 0:
                print(f"Train Epoch: {epoch} [{batch_idx}] Loss: {loss.item():.10f}")


if __name__ == "__main__":
    main()
