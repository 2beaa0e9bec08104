"""Training scripts in the manner of well-known repositories, unchanged under `tb-dataplugin run --` and without it.

The scripts are in `tests/ecosystem/scripts`. Their authors had not read this code: they are what people write.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import tb_dataplugin
from tests.support import warm

ROOT: Final = Path(__file__).resolve().parents[1]
SCRIPTS: Final = ROOT / "tests" / "ecosystem" / "scripts"
_CLOCK: Final = re.compile(r"'\w+_(?:runtime|per_second)': '[^']*'")
"""What transformers' Trainer prints of the time that it took."""
_SECONDS: Final = 200


class Script(NamedTuple):
    """A script, and how people start it."""

    name: str
    launcher: tuple[str, ...] = ()
    """A program beside Python, or options of Python's, before the script; empty: Python alone."""
    arguments: tuple[str, ...] = ()
    captures: int = 1
    unseen: str = ""
    """Why there is no stage table."""


_TORCHRUN: Final = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")

CORE: Final = (
    Script("stream"),
    Script("imagenet"),
    Script("dcgan"),
    Script("dqn_replay"),
    Script("vae"),
)
"""Those that `make test` runs: they need torch, torchvision and nothing else."""
OTHERS: Final = (
    Script("ddp", launcher=_TORCHRUN, captures=2),
    Script("word_lm", unseen="no DataLoader was iterated"),
    *map(
        Script,
        ("timm_train", "detection", "segmentation", "spawned", "unet", "char_rnn", "bert_finetune", "hf_trainer"),
    ),
    *map(Script, ("lightning_mnist", "accelerate_cv", "audio", "tabular", "graphs", "simclr", "webdataset_train")),
    *map(Script, ("train_val_best", "accumulate_amp", "notebook")),
)


class Ended(NamedTuple):
    """What a program leaves behind."""

    status: int
    printed: str
    """On stdout, without what tells the time."""
    complained: str
    """On stderr."""


def prepare(folder: Path) -> Path:
    """A folder with the data of all scripts."""
    subprocess.run([sys.executable, SCRIPTS / "prepare_data.py", folder], check=True, timeout=60)
    return folder


def run(script: Script, data: Path, folder: Path, logdir: Path | None = None) -> Ended:
    """`script` in a new working directory; under `tb-dataplugin run` where there is a `logdir`."""
    folder.mkdir()
    (folder / "data").symlink_to(data / "data")
    command = _command(script)
    if logdir is None and not script.launcher:
        done = warm.run(command, cwd=folder, env=_environment(), timeout=_SECONDS)
    else:
        ours = [sys.executable, "-m", "tb_dataplugin", "run", "--logdir", str(logdir), "--"]
        command = command if logdir is None else [*ours, *command]
        done = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    return Ended(done.returncode, _CLOCK.sub("", done.stdout), done.stderr)


def _command(script: Script) -> list[str]:
    python, words = Path(sys.executable), script.launcher
    if words and not words[0].startswith("-"):
        words = (str(python.parent / words[0]), *words[1:])
    else:
        words = (str(python), *words)
    return [*words, str(SCRIPTS / f"{script.name}.py"), *script.arguments]


def _environment() -> dict[str, str]:
    path = [
        str(SCRIPTS / "environment"),
        str(SCRIPTS),
        str(ROOT / "examples"),
        str(ROOT),
        os.environ.get("PYTHONPATH", ""),
    ]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "OMP_NUM_THREADS": "1"}


def stages(logdir: Path) -> list[set[str]]:
    """The stages of each capture, without waits and what users mark."""
    return [
        {f"{stage['kind']}::{stage['label']}" for stage in capture["stages"] if stage["kind"] not in ("wait", "user")}
        for capture in tb_dataplugin.read_report(logdir).to_dict()["captures"]
    ]


def check(script: Script, data: Path, tmp_path: Path) -> None:
    """The script says bit for bit what it says without us, and there is a stage table."""
    logdir = tmp_path / "traces"
    plain = run(script, data, tmp_path / "plain")
    assert plain.status == 0, plain.complained
    ours = run(script, data, tmp_path / "recorded", logdir)
    assert (ours.status, ours.printed) == (plain.status, plain.printed), ours.complained
    said = [line for line in ours.complained.splitlines() if "annotate" in line.lower() or "tb-dataplugin" in line]
    assert [line.split(":")[0] for line in said] == ["tb-dataplugin"], said
    if script.unseen:
        assert script.unseen in said[0]
        return
    tables = stages(logdir)
    assert len(tables) == script.captures
    for table in tables:
        assert any(stage.startswith("sample::") for stage in table), table
