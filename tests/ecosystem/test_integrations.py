"""annotate.integrations, each in the framework itself: the planted transform is named, and the training is as without.

Each training runs in a process of its own.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import transformers
from accelerate import Accelerator
from torch.utils.data import DataLoader

import annotate
from annotate.capture import session, standing
from annotate.recording import switch
from tests.ecosystem.children import in_child
from tests.ecosystem.observe import clear
from tests.ecosystem.planted import Rows, Said, said

BATCH = 4
COUNTS: dict[str, Any] = {"wait": 3, "warmup": 1, "active": 8}


class Result(NamedTuple):
    weights: list[Any]
    losses: list[float]
    steps: int
    """That the framework took."""
    ours: list[str]
    """Our warnings."""
    others: list[str]
    said: Said
    files: int
    left: list[str]
    """Of ours, when the training was over."""
    raised: str = ""


class Broken(Exception):
    pass


def left_behind() -> list[str]:
    found = {"session": session.is_on(), "recording": switch.RECORDING, "capturing": switch.CAPTURING}
    found["standing session"] = standing.is_recording()
    found["profiler"] = torch.autograd._profiler_enabled()
    return [name for name, there in found.items() if there]


def watched(train: Callable[[], tuple[torch.nn.Module, list[float], int]], folder: str, ours: Any) -> Result:
    """What `train` gave, and what its user noticed."""
    torch.set_num_threads(1)
    raised, model, losses, steps = "", None, [], 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            model, losses, steps = train()
        except Broken as error:
            raised = repr(error)
    texts = [str(warning.message) for warning in caught]
    return Result(
        weights=[] if model is None else [p.tolist() for p in model.parameters()],
        losses=losses,
        steps=steps,
        ours=[text for text in texts if text.startswith("annotate")],
        others=sorted(text for text in texts if not text.startswith("annotate")),
        said=said(folder),
        files=len(getattr(ours, "trace_files", [])),
        left=left_behind(),
        raised=raised,
    )


# Lightning

LIGHTNING = ["lightning.pytorch", "pytorch_lightning"]


def lightning_model(pl: Any, fails_at: int) -> Any:
    class Model(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)
            self.losses: list[float] = []

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            if index == fails_at:
                raise Broken("in training_step")
            loss = torch.nn.functional.cross_entropy(self.layer(batch["x"]), batch["labels"])
            self.losses.append(loss.item())
            return loss

        def validation_step(self, batch: Any, index: int) -> None:
            self.layer(batch["x"])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Model()


def lightning(folder: str, package: str, way: str, case: str, workers: int) -> Result:
    """`way`: plain, profiler or callback."""
    pl = importlib.import_module(package)
    pl.seed_everything(0, verbose=False)
    keywords: dict[str, Any] = {
        "max_epochs": 1, "accelerator": "cpu", "devices": 1, "logger": False, "enable_checkpointing": False,
        "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": folder,
    }  # fmt: skip
    keywords |= {"accumulated": {"accumulate_grad_batches": 2}, "max steps": {"max_steps": 14}}.get(case, {})
    ours: Any = None
    if way == "profiler":
        keywords["profiler"] = ours = annotate.integrations.lightning.DataPipelineProfiler(folder, **COUNTS)
    elif way == "callback":
        keywords["callbacks"] = [ours := annotate.integrations.lightning.DataPipelineCallback(folder, **COUNTS)]
    loader = DataLoader(Rows(), batch_size=BATCH, shuffle=True, num_workers=workers)
    others = [DataLoader(Rows(16), batch_size=BATCH)] if case == "validated" else []

    def train() -> Any:
        model = lightning_model(pl, fails_at=7 if case == "fails" else -1)
        for _ in range(2 if case == "two fits" else 1):
            trainer = pl.Trainer(**keywords)
            trainer.fit(model, loader, *others)
        if case == "validated":
            trainer.validate(model, others[0], verbose=False)
        return model, model.losses, trainer.global_step

    return watched(train, folder, ours)


# transformers


class Classifier(torch.nn.Module):
    def __init__(self, fails_at: int = -1) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
        self.fails_at = fails_at

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.fails_at -= 1
        if self.fails_at == 0:
            raise Broken("in forward")
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def hugging_face(folder: str, way: str, case: str, workers: int) -> Result:
    transformers.set_seed(0)
    ours: Any = None
    if way == "callback":
        ours = annotate.integrations.transformers.DataPipelineCallback(folder, **COUNTS)

    def trainer(**keywords: Any) -> transformers.Trainer:
        args = transformers.TrainingArguments(
            output_dir=folder + "/out", num_train_epochs=1, per_device_train_batch_size=BATCH, report_to=[],
            use_cpu=True, disable_tqdm=True, logging_steps=1, dataloader_num_workers=workers, seed=0,
            gradient_accumulation_steps=2 if case == "accumulated" else 1, save_strategy="no",
            eval_strategy="steps" if case == "evaluated" else "no", eval_steps=9,
        )  # fmt: skip
        for name, value in keywords.items():
            setattr(args, name, value)
        return transformers.Trainer(
            model=Classifier(7 if case == "fails" else -1), args=args, train_dataset=Rows(), eval_dataset=Rows(8)
        )

    def train() -> Any:
        if case == "resumed":
            trainer(save_strategy="steps", save_steps=6, max_steps=6).train()
        ours_is = trainer()
        if ours is not None:
            ours_is.add_callback(ours)
        for _ in range(2 if case == "two trainings" else 1):
            ours_is.train(resume_from_checkpoint=case == "resumed" or None)
        losses = [entry["loss"] for entry in ours_is.state.log_history if "loss" in entry]
        return ours_is.model, losses, ours_is.state.global_step

    result = watched(train, folder, ours)
    if case == "fails" and ours is not None:  # the Trainer calls nobody
        assert result.left
        ours.close()
        result = result._replace(left=left_behind(), said=said(folder))
    return result


# accelerate


def accelerated(folder: str, way: str, case: str, workers: int) -> Result:
    torch.manual_seed(0)
    handlers = []
    if way == "profile_kwargs":
        handlers = [annotate.integrations.accelerate.profile_kwargs(folder, **COUNTS)]

    def train() -> Any:
        accelerator = Accelerator(cpu=True, kwargs_handlers=handlers)
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(Rows(), batch_size=BATCH, shuffle=True, num_workers=workers)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        losses = []
        with accelerator.profile() as prof:
            for batch in loader:
                loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["labels"])
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
                if len(losses) == 7 and case == "fails":
                    raise Broken("in the loop")
                prof.step()
        return model, losses, len(losses)

    return watched(train, folder, None)


# The tests


@functools.cache
def plain(function: Callable[..., Result], folder: Path, *args: Any) -> Result:
    folder.mkdir(parents=True, exist_ok=True)
    result: Result = in_child(function, str(folder), *args)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


def check(result: Result, without_us: Result) -> None:
    """As without us, and nothing of ours is left."""
    assert result.raised == without_us.raised
    assert result.weights == without_us.weights
    assert result.losses == without_us.losses
    assert result.steps == without_us.steps
    assert result.others == without_us.others
    assert result.left == without_us.left == []
    for text in result.ours:
        clear(text)


def named(result: Result, workers: int, captures: int = 1) -> None:
    """The planted transform comes first in the report."""
    assert not result.ours, result.ours
    assert result.said.captures == captures
    assert result.said.leading == "transform::Slow", result.said
    assert result.said.finding in ("transform::Slow", ""), result.said
    assert "transform::Slow" in result.said.verdict, result.said
    assert result.said.workers == workers


FITS = [
    *[(LIGHTNING[0], case, 0) for case in ("once", "accumulated", "two fits")],
    *[(LIGHTNING[0], case, 2) for case in ("once", "max steps", "validated")],
    *[(LIGHTNING[1], "once", 0), (LIGHTNING[1], "validated", 2)],
]


@pytest.mark.parametrize("way", ["profiler", "callback"])
@pytest.mark.parametrize(("package", "case", "workers"), FITS, ids=str)
def test_lightning(package: str, case: str, workers: int, way: str, folder: Path, tmp_path: Path) -> None:
    result = in_child(lightning, str(tmp_path), package, way, case, workers)
    check(result, plain(lightning, folder / package / f"{case}{workers}", package, "plain", case, workers))
    named(result, workers, captures=2 if case == "two fits" else 1)
    assert result.files == result.said.captures
    assert result.said.steps == COUNTS["active"]
    assert "wait::DataLoader" in result.said.stages
    if way == "profiler":
        assert "h2d::batch_to_device" in result.said.stages


@pytest.mark.parametrize("way", ["profiler", "callback"])
def test_a_fit_that_fails(way: str, folder: Path, tmp_path: Path) -> None:
    result = in_child(lightning, str(tmp_path), LIGHTNING[0], way, "fails", 2)
    check(result, plain(lightning, folder / "failing", LIGHTNING[0], "plain", "fails", 2))
    assert result.raised
    assert not result.ours


HF_CASES = [("once", 0), ("once", 2), ("accumulated", 2), ("evaluated", 0), ("resumed", 2), ("two trainings", 0)]


@pytest.mark.parametrize(("case", "workers"), HF_CASES, ids=str)
def test_transformers(case: str, workers: int, folder: Path, tmp_path: Path) -> None:
    result = in_child(hugging_face, str(tmp_path), "callback", case, workers)
    check(result, plain(hugging_face, folder / "hf" / f"{case}{workers}", "plain", case, workers))
    named(result, workers, captures=2 if case == "two trainings" else 1)
    assert result.said.steps == COUNTS["active"]
    assert result.said.waits >= result.said.steps * (2 if case == "accumulated" else 1)


def test_a_training_that_fails(folder: Path, tmp_path: Path) -> None:
    result = in_child(hugging_face, str(tmp_path), "callback", "fails", 2)
    check(result, plain(hugging_face, folder / "hf" / "failing", "plain", "fails", 2))
    assert result.raised


@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate(workers: int, folder: Path, tmp_path: Path) -> None:
    result = in_child(accelerated, str(tmp_path), "profile_kwargs", "once", workers)
    check(result, plain(accelerated, folder / "accelerate" / str(workers), "plain", "once", workers))
    named(result, workers)
    assert result.said.steps == COUNTS["active"]


def test_a_loop_that_fails_in_accelerates_profiler(folder: Path, tmp_path: Path) -> None:
    result = in_child(accelerated, str(tmp_path), "profile_kwargs", "fails", 2)
    check(result, plain(accelerated, folder / "accelerate" / "failing", "plain", "fails", 2))
    assert result.raised


def test_they_pickle() -> None:
    """Lightning's spawning strategies send their callbacks to other processes."""
    for make in (
        annotate.integrations.lightning.DataPipelineProfiler,
        annotate.integrations.lightning.DataPipelineCallback,
        annotate.integrations.transformers.DataPipelineCallback,
    ):
        assert pickle.loads(pickle.dumps(make("runs/x"))).trace_files == []
