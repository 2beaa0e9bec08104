"""Tabular data from pandas with embeddings of categories, three loaders and an EarlyStopping class."""

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class EarlyStopping:
    """Early stops the training if validation loss doesn't improve after a given patience."""

    def __init__(self, patience=7, delta=0, path="checkpoint.pt", trace_func=print):
        self.patience = patience
        self.counter = 0
        self.best_score = None
        self.early_stop = False
        self.delta = delta
        self.path = path
        self.trace_func = trace_func

    def __call__(self, val_loss, model):
        score = -val_loss
        if self.best_score is None or score >= self.best_score + self.delta:
            self.best_score = score
            torch.save(model.state_dict(), self.path)
            self.counter = 0
        else:
            self.counter += 1
            self.trace_func(f"EarlyStopping counter: {self.counter} out of {self.patience}")
            self.early_stop = self.counter >= self.patience


class HousesDataset(Dataset):
    def __init__(self, df, cat_cols, output_col):
        self.df = df.reset_index(drop=True)
        self.cat_cols = cat_cols
        self.cont_cols = [c for c in df.columns if c not in [*cat_cols, output_col]]
        self.output_col = output_col

    def __len__(self):
        return len(self.df)

    def __getitem__(self, idx):
        row = self.df.iloc[idx]
        cats = row[self.cat_cols].to_numpy().astype(np.int64)
        conts = row[self.cont_cols].to_numpy().astype(np.float32)
        return (
            torch.from_numpy(cats),
            torch.from_numpy(conts),
            torch.tensor([row[self.output_col]], dtype=torch.float32),
        )


class FeedForwardNN(nn.Module):
    def __init__(self, emb_dims, no_of_cont):
        super().__init__()
        self.emb_layers = nn.ModuleList([nn.Embedding(x, y) for x, y in emb_dims])
        self.layers = nn.Sequential(
            nn.Linear(sum(y for _, y in emb_dims) + no_of_cont, 32), nn.ReLU(), nn.Linear(32, 1)
        )

    def forward(self, cat_data, cont_data):
        embedded = [layer(cat_data[:, i]) for i, layer in enumerate(self.emb_layers)]
        return self.layers(torch.cat([*embedded, cont_data], 1))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    losses = []
    for cats, conts, y in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss = criterion(model(cats, conts), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return np.average(losses)


def main():
    torch.manual_seed(0)
    data = pd.read_csv("data/houses.csv")
    data["district"] = data["district"].astype("category").cat.codes
    for column in ("rooms", "area", "year", "price"):
        data[column] = (data[column] - data[column].mean()) / data[column].std()
    train_df, val_df, test_df = data[:600], data[600:750], data[750:]
    train_loader = DataLoader(HousesDataset(train_df, ["district"], "price"), 8, shuffle=True, num_workers=2)
    val_loader = DataLoader(HousesDataset(val_df, ["district"], "price"), 32, num_workers=1)
    test_loader = DataLoader(HousesDataset(test_df, ["district"], "price"), 32)
    model = FeedForwardNN([(4, 2)], 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    early_stopping = EarlyStopping(patience=1)
    for epoch in range(1, 6):
        train_loss = run_epoch(model, train_loader, criterion, optimizer)
        valid_loss = run_epoch(model, val_loader, criterion)
        print(f"[{epoch:>3}] train_loss: {train_loss:.10f} valid_loss: {valid_loss:.10f}")
        early_stopping(valid_loss, model)
        if early_stopping.early_stop:
            print("Early stopping")
            break
    model.load_state_dict(torch.load("checkpoint.pt"))
    print(f"Test loss: {run_epoch(model, test_loader, criterion):.10f}")


if __name__ == "__main__":
    main()
