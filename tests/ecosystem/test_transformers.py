"""Hugging Face's Trainer over a datasets.Dataset: it drops the columns that the model does not take."""

from __future__ import annotations

import functools
import gzip
import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import pytest
import torch
import transformers

import annotate
from annotate.trace_format import parse_span_name
from tests.ecosystem.children import in_child
from tests.ecosystem.observe import clear

SIZE, BATCH = 64, 4


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Stepping(transformers.TrainerCallback):
    def __init__(self, prof: Any) -> None:
        self.prof = prof

    def on_step_end(self, *args: Any, **keywords: Any) -> None:
        self.prof.step()


class Annotating(transformers.Trainer):
    """What a user of Trainer can do: the loader is made in here, and nobody else sees it."""

    def get_train_dataloader(self) -> Any:
        return annotate.loader(super().get_train_dataloader())


class Result(NamedTuple):
    weights: list[Any]
    losses: list[float]
    said: list[str]
    others: list[str]
    record: dict[str, Any]
    stages: list[str]


def double(examples: dict[str, Any]) -> dict[str, Any]:
    return {key: [[2 * v for v in row] for row in rows] if key == "x" else rows for key, rows in examples.items()}


def rows(columns: str) -> datasets.Dataset:
    table = {"x": [[float(i % 7)] * 4 for i in range(SIZE)], "labels": [i % 2 for i in range(SIZE)]}
    if columns == "one too many":
        table["text"] = [str(i) for i in range(SIZE)]
    data = datasets.Dataset.from_dict(table)
    if columns == "transformed":
        data.set_transform(double)
    return data


def train(folder: str, columns: str, annotated: str, recording: bool, workers: int) -> Result:
    torch.set_num_threads(1)
    transformers.set_seed(0)
    data = rows(columns)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        args = transformers.TrainingArguments(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=BATCH, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, logging_steps=4, dataloader_num_workers=workers, seed=0,
        )  # fmt: skip
        if annotated == "dataset":
            data = annotate.dataset(data)
        kind = Annotating if annotated == "loader" else transformers.Trainer
        trainer = kind(model=Model(), args=args, train_dataset=data)
        prof = None
        if recording:
            with annotate.profile(Path(folder) / "ours", wait=3, warmup=1, active=4) as prof:
                trainer.add_callback(Stepping(prof))
                trainer.train()
        else:
            trainer.train()
    texts = [str(w.message) for w in caught]
    trace: dict[str, Any] = {"dataPipeline": {}, "traceEvents": []}
    if prof is not None and prof.trace_files:
        with gzip.open(prof.trace_files[-1]) as file:
            trace = json.load(file)
    names = {str(event.get("name")) for event in trace["traceEvents"] if event.get("ph") == "X"}
    return Result(
        weights=[p.tolist() for p in trainer.model.parameters()],
        losses=[entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
        said=[t for t in texts if t.startswith("annotate")],
        others=sorted(t for t in texts if not t.startswith("annotate")),
        record=trace["dataPipeline"],
        stages=sorted(name for name in names if parse_span_name(name)),
    )


@functools.cache
def plain(folder: Path, columns: str, workers: int) -> Result:
    folder.mkdir(exist_ok=True)
    return in_child(train, str(folder), columns, "", False, workers)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


def check(result: Result, without_us: Result) -> None:
    assert result.weights == without_us.weights
    assert result.losses == without_us.losses
    assert result.others == without_us.others
    for text in result.said:
        clear(text)


@pytest.mark.parametrize("columns", ["as many", "one too many"])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_annotated_dataset_is_not_lost_silently(workers: int, columns: str, folder: Path, tmp_path: Path) -> None:
    """`Trainer` trains on a copy of it: ``remove_columns`` makes one even where there is none to remove."""
    result = in_child(train, str(tmp_path), columns, "dataset", True, workers)
    check(result, plain(folder / columns, columns, workers))
    if not any(name.startswith("sample::") for name in result.stages):
        assert any("annotate.dataset" in text for text in result.said), result.said
        assert not any("started" in text or "before annotate.profile began" in text for text in result.said)


@pytest.mark.parametrize("columns", ["as many", "transformed"])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_trainer_that_annotates_its_loader(workers: int, columns: str, folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), columns, "loader", True, workers)
    check(result, plain(folder / columns, columns, workers))
    assert any(name.startswith("sample::") for name in result.stages), (result.stages, result.said)
    assert not result.said


def test_nothing_annotated(folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), "as many", "", True, 0)
    check(result, plain(folder / "as many", "as many", 0))
    assert result.record
    assert len(result.said) == 1
    assert "annotate" in result.said[0]


def test_annotated_and_never_recorded(folder: Path, tmp_path: Path) -> None:
    result = in_child(train, str(tmp_path), "as many", "dataset", False, 0)
    check(result, plain(folder / "as many", "as many", 0))
    assert not result.said
