"""Lightning: annotate.profile beside its own PyTorchProfiler, in every phase of both, each in a process of its own."""

from __future__ import annotations

import functools
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.profilers import PyTorchProfiler
from torch.utils.data import DataLoader, TensorDataset

import annotate
from tests.ecosystem.children import in_child
from tests.ecosystem.observe import clear

BATCHES = 20


class Model(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        x, y = batch
        return torch.nn.functional.mse_loss(self.layer(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Result(NamedTuple):
    weights: list[Any]
    steps: int
    """That the trainer took."""
    their_steps: list[str]
    """Names of the ProfilerStep spans in the files of Lightning's profiler."""
    said: list[str]
    """Our warnings."""
    others: list[str]
    refused: str
    our_files: int


class Stepping(pl.Callback):
    """Drives annotate.profile from inside; enters it before batch number `enter` where it is not entered yet."""

    def __init__(self, prof: Any, enter: int | None) -> None:
        self.prof = prof
        self.enter = enter
        self.refused = ""
        self.on = enter is None

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int) -> None:
        if batch_idx == self.enter:
            try:
                self.prof.__enter__()
                self.on = True
            except RuntimeError as error:
                self.refused = str(error)

    def on_train_batch_end(self, *args: Any) -> None:
        if self.on and self.prof is not None:
            self.prof.step()

    def on_train_end(self, *args: Any) -> None:
        if self.on and self.enter is not None:
            self.prof.__exit__(None, None, None)


def train(folder: str, theirs: bool, ours: tuple[int, int, int] | None, enter: int | None, workers: int = 0) -> Result:
    """`enter` None: ours is around ``trainer.fit``; else it is entered by a callback, while theirs is on."""
    torch.set_num_threads(1)
    pl.seed_everything(0, verbose=False)
    x = torch.randn(BATCHES * 4, 4)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4, shuffle=True, num_workers=workers)
    profiler = PyTorchProfiler(dirpath=folder, filename="theirs") if theirs else None
    prof = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        if ours is not None:
            wait, warmup, active = ours
            prof = annotate.profile(Path(folder) / "ours", wait=wait, warmup=warmup, active=active)
            loader = annotate.loader(loader)
        stepping = Stepping(prof, enter)
        trainer = pl.Trainer(
            max_epochs=1, accelerator="cpu", devices=1, profiler=profiler, callbacks=[stepping], logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        )  # fmt: skip
        model = Model()
        if prof is not None and enter is None:
            with prof:
                trainer.fit(model, loader)
        else:
            trainer.fit(model, loader)
    texts = [str(w.message) for w in caught]
    return Result(
        weights=[p.tolist() for p in model.parameters()],
        steps=trainer.global_step,
        their_steps=their_steps(Path(folder)),
        said=[t for t in texts if t.startswith("annotate")],
        others=sorted(t for t in texts if not t.startswith("annotate")),
        refused=stepping.refused,
        our_files=0 if prof is None else len(prof.trace_files),
    )


def their_steps(folder: Path) -> list[str]:
    names = []
    for path in folder.glob("*theirs*.json"):
        events = json.loads(path.read_text())["traceEvents"]
        names += [e["name"] for e in events if e.get("ph") == "X" and "ProfilerStep" in str(e.get("name"))]
    return sorted(set(names))


@functools.cache
def alone(folder: Path, theirs: bool) -> Result:
    folder.mkdir(exist_ok=True)
    return in_child(train, str(folder), theirs, None, None)


PHASES = [(0, 0, 3), (0, 1, 3), (1, 1, 3), (2, 1, 3), (3, 1, 3), (4, 1, 20), (30, 1, 3)]
"""wait, warmup, active of ours; theirs goes round in wait 1, warmup 1, active 3."""


def check(result: Result, plain: Result) -> None:
    assert result.weights == plain.weights
    assert result.steps == plain.steps == BATCHES
    assert result.their_steps == plain.their_steps, "their profiler lacks steps that it has without us"
    others = [text for text in result.others if "warmup=0" not in text]  # ours about it
    assert others == plain.others, "warnings that are not ours, and are not there without us"
    said = [text for text in result.said if "warmup=0" not in text]
    assert len(said) <= 1, said
    for text in [*result.said, *filter(None, [result.refused])]:
        clear(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("alone")


def test_their_profiler_alone_records(folder: Path) -> None:
    assert alone(folder / "theirs", True).their_steps


@pytest.mark.parametrize("ours", PHASES, ids=str)
def test_ours_around_fit_with_theirs_inside(ours: tuple[int, int, int], folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), True, ours, None)
    check(result, alone(folder / "theirs", True))
    assert result.our_files or result.said, "no file, and no word"


@pytest.mark.parametrize("ours", [(0, 0, 3), (0, 1, 3), (2, 1, 3), (30, 1, 3)], ids=str)
@pytest.mark.parametrize("enter", [0, 1, 2, 3, 4, 5])
def test_ours_entered_while_theirs_is_on(enter: int, ours: tuple[int, int, int], folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), True, ours, enter)
    check(result, alone(folder / "theirs", True))
    assert result.our_files or result.said or result.refused, "no file, and no word"


@pytest.mark.parametrize("enter", [None, 3])
def test_ours_alone(enter: int | None, folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), False, (2, 1, 4), enter)
    check(result, alone(folder / "nobody", False))
    assert result.our_files == 1
    assert not result.said
    assert not result.refused


def test_ours_alone_with_workers(folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), False, (2, 1, 4), None, 2)
    assert result.weights == alone(folder / "nobody", False).weights
    assert result.our_files == 1
    assert not result.said
