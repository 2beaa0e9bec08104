"""Graph classification with PyG, in the manner of its examples: a Dataset with a transform, PyG's DataLoader, GIN."""

import torch
import torch.nn.functional as F
import torch_geometric.transforms as T
from torch_geometric.data import Data, Dataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, GINConv, global_add_pool
from torch_geometric.seed import seed_everything

seed_everything(42)


class Molecules(Dataset):
    def __init__(self, count, transform=None):
        super().__init__(None, transform)
        self.count = count

    def len(self):
        return self.count

    def get(self, idx):
        generator = torch.Generator().manual_seed(idx)
        n = 20 + idx % 10
        return Data(
            x=torch.rand(n, 8, generator=generator),
            pos=torch.rand(n, 3, generator=generator),
            y=torch.tensor([idx % 2]),
        )


def connect(data):
    n = data.num_nodes
    row = torch.arange(n).repeat_interleave(3)
    col = (row + torch.tensor([1, 2, 5]).repeat(n)) % n
    data.edge_index = torch.stack([row, col])
    return data


dataset = Molecules(240, transform=T.Compose([connect, T.Cartesian(norm=True), T.NormalizeFeatures()]))
train_loader = DataLoader(dataset[:200], batch_size=4, shuffle=True, num_workers=2)
test_loader = DataLoader(dataset[200:], batch_size=4)


class GIN(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.conv = GINConv(nn=MLP([in_channels, hidden_channels, hidden_channels]), train_eps=False)
        self.mlp = MLP([hidden_channels, hidden_channels, out_channels], norm=None, dropout=0.5)

    def forward(self, x, edge_index, batch, batch_size):
        x = self.conv(x, edge_index).relu()
        return self.mlp(global_add_pool(x, batch, size=batch_size))


model = GIN(8, 16, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def train():
    model.train()
    total_loss = 0
    for data in train_loader:
        optimizer.zero_grad()
        out = model(data.x, data.edge_index, data.batch, data.batch_size)
        loss = F.cross_entropy(out, data.y)
        loss.backward()
        optimizer.step()
        total_loss += float(loss) * data.num_graphs
    return total_loss / len(train_loader.dataset)


@torch.no_grad()
def test(loader):
    model.eval()
    total_correct = 0
    for data in loader:
        pred = model(data.x, data.edge_index, data.batch, data.batch_size).argmax(dim=-1)
        total_correct += int((pred == data.y).sum())
    return total_correct / len(loader.dataset)


for epoch in range(1, 3):
    loss = train()
    print(f"Epoch: {epoch} Loss: {loss:.10f} Test: {test(test_loader):.4f}")
