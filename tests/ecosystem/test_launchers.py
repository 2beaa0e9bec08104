"""Launchers that people start training with, under `tb-dataplugin run --`: the same results, and a stage table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import public_scripts
from tests.public_scripts import Script

LAUNCHERS = {
    "accelerate launch": Script("accelerate_cv", launcher=("accelerate", "launch", "--cpu", "--num_processes", "1")),
    "python -m accelerate": Script("accelerate_cv", launcher=("-m", "accelerate.commands.launch", "--cpu")),
    "torchrun": Script("ddp", launcher=("torchrun", "--standalone", "--nproc_per_node", "2"), captures=2),
    "fabric run": Script("lightning_mnist", launcher=("fabric", "run", "--accelerator", "cpu")),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return public_scripts.prepare(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_gives_the_same_results_and_a_stage_table(name: str, data: Path, tmp_path: Path) -> None:
    public_scripts.check(LAUNCHERS[name], data, tmp_path)


CLI = """
from lightning.pytorch.cli import LightningCLI
from lightning_mnist import LitClassifier, MNISTDataModule, PrintLosses

LightningCLI(LitClassifier, MNISTDataModule, seed_everything_default=7, save_config_callback=None,
    trainer_defaults={"max_epochs": 1, "accelerator": "cpu", "enable_progress_bar": False, "logger": False,
                      "enable_checkpointing": False, "callbacks": [PrintLosses()]})
"""


def test_lightnings_command_line_gives_the_same_results_and_a_stage_table(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("jsonargparse")
    file = tmp_path / "main.py"
    file.write_text(CLI)
    script = Script(str(file.with_suffix("")), arguments=("fit", "--trainer.limit_val_batches=5"))
    public_scripts.check(script, data, tmp_path)
