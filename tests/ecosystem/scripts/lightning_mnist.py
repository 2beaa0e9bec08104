"""Lightning: a LightningModule, a LightningDataModule, a Trainer with a callback and a checkpoint."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, random_split
from torchvision import transforms
from torchvision.datasets import MNIST


class MNISTDataModule(L.LightningDataModule):
    def __init__(self, data_dir="data", batch_size=16):
        super().__init__()
        self.save_hyperparameters()
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])

    def setup(self, stage=None):
        mnist_full = MNIST(self.hparams.data_dir, train=True, transform=self.transform)
        generator = torch.Generator().manual_seed(42)
        self.mnist_train, self.mnist_val = random_split(mnist_full, [1280, 320], generator)

    def train_dataloader(self):
        return DataLoader(self.mnist_train, batch_size=self.hparams.batch_size, shuffle=True, num_workers=2)

    def val_dataloader(self):
        return DataLoader(self.mnist_val, batch_size=self.hparams.batch_size, num_workers=2)


class LitClassifier(L.LightningModule):
    def __init__(self, hidden_dim=32, learning_rate=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.l1 = nn.Linear(28 * 28, hidden_dim)
        self.l2 = nn.Linear(hidden_dim, 10)

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x.view(x.size(0), -1))))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", F.cross_entropy(self(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.learning_rate)


class PrintLosses(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if batch_idx % 20 == 0:
            print(f"epoch {trainer.current_epoch} batch {batch_idx} loss {outputs['loss'].item():.10f}")

    def on_validation_end(self, trainer, pl_module):
        print(f"val_loss {trainer.callback_metrics['val_loss'].item():.10f}")


def cli_main():
    L.seed_everything(1234)
    trainer = L.Trainer(
        max_epochs=1,
        accelerator="cpu",
        enable_progress_bar=False,
        logger=False,
        num_sanity_val_steps=0,
        callbacks=[PrintLosses(), ModelCheckpoint(dirpath="lightning_checkpoints", monitor="val_loss")],
    )
    trainer.fit(LitClassifier(), datamodule=MNISTDataModule())


if __name__ == "__main__":
    cli_main()
