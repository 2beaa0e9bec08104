# %% [markdown]
# # Fitting digits: cells of a notebook, exported as a script. Globals everywhere, no main guard, a lambda as transform.

# %%
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
import torchvision
from torch.utils.data import DataLoader, Subset

torch.manual_seed(0)  # noqa: E703

# %%
ds = torchvision.datasets.MNIST("data", train=True)
ds.transform = torchvision.transforms.Compose(
    [
        torchvision.transforms.RandomRotation(15),
        torchvision.transforms.ToTensor(),
        torchvision.transforms.Lambda(lambda t: (t - 0.5) / 0.5),
    ]
)
len(ds), ds[0][0].shape

# %%
small = Subset(ds, range(960))
dl = DataLoader(small, 16, shuffle=True, num_workers=2)
xb, yb = next(iter(dl))
print(xb.shape, yb[:5])

# %%
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
opt = torch.optim.SGD(net.parameters(), 0.05)
history = []

# %%
for epoch in range(2):
    for xb, yb in dl:
        loss = torch.nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
        history.append(loss.item())
    print(epoch, history[-1])

# %%
plt.plot(history)
plt.savefig("loss.png")
print(sum(history) / len(history))
