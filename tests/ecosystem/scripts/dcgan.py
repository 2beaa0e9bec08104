"""A GAN in the manner of pytorch/examples: module-level code, two networks, two optimizers, one loader."""

import argparse
import os
import random

import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data
import torchvision.datasets as dset
import torchvision.transforms as transforms

parser = argparse.ArgumentParser()
parser.add_argument("--dataroot", default="data/images/train", help="path to dataset")
parser.add_argument("--workers", type=int, help="number of data loading workers", default=2)
parser.add_argument("--batchSize", type=int, default=4, help="input batch size")
parser.add_argument("--imageSize", type=int, default=32)
parser.add_argument("--nz", type=int, default=16, help="size of the latent z vector")
parser.add_argument("--niter", type=int, default=1)
parser.add_argument("--lr", type=float, default=0.0002)
parser.add_argument("--beta1", type=float, default=0.5)
parser.add_argument("--outf", default="gan")
parser.add_argument("--manualSeed", type=int, default=999)
opt = parser.parse_args()
print(opt)

os.makedirs(opt.outf, exist_ok=True)
random.seed(opt.manualSeed)
torch.manual_seed(opt.manualSeed)

dataset = dset.ImageFolder(
    root=opt.dataroot,
    transform=transforms.Compose(
        [
            transforms.Resize(opt.imageSize),
            transforms.CenterCrop(opt.imageSize),
            transforms.ToTensor(),
            transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
        ]
    ),
)
dataloader = torch.utils.data.DataLoader(dataset, batch_size=opt.batchSize, shuffle=True, num_workers=int(opt.workers))


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight, 0.0, 0.02)


netG = nn.Sequential(  # noqa: N816
    nn.ConvTranspose2d(opt.nz, 16, 8), nn.ReLU(True), nn.ConvTranspose2d(16, 3, 4, 4), nn.Tanh()
)
netD = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 8), nn.Sigmoid())  # noqa: N816
netG.apply(weights_init)
netD.apply(weights_init)

criterion = nn.BCELoss()
fixed_noise = torch.randn(opt.batchSize, opt.nz, 1, 1)
real_label = 1
fake_label = 0
optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))  # noqa: N816
optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))  # noqa: N816

for epoch in range(opt.niter):
    for i, data in enumerate(dataloader, 0):
        # (1) Update D network: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        real = data[0]
        batch_size = real.size(0)
        label = torch.full((batch_size,), real_label, dtype=real.dtype)
        output = netD(real).flatten()
        errD_real = criterion(output, label)  # noqa: N816
        errD_real.backward()
        noise = torch.randn(batch_size, opt.nz, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        output = netD(fake.detach()).flatten()
        errD_fake = criterion(output, label)  # noqa: N816
        errD_fake.backward()
        optimizerD.step()
        # (2) Update G network: maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake).flatten(), label)  # noqa: N816
        errG.backward()
        optimizerG.step()
        if i % 5 == 0:
            errD = errD_real + errD_fake  # noqa: N816
            print(f"[{epoch}/{opt.niter}][{i}/{len(dataloader)}] Loss_D: {errD.item():.9f} Loss_G: {errG.item():.9f}")
    torch.save(netG.state_dict(), f"{opt.outf}/netG_epoch_{epoch}.pth")
print(netG(fixed_noise).sum().item())
