"""annotate.integrations without the frameworks: what a Trainer calls, and what must not reach it.

`tests/ecosystem/test_integrations.py` runs the real ones.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import session
from annotate.capture.profiling import Profile
from annotate.integrations import driving
from annotate.integrations.driving import Driver
from annotate.recording import switch
from tb_dataplugin import read_report

COUNTS: dict[str, Any] = {"wait": 2, "warmup": 1, "active": 4}


class Slow:
    def __call__(self, item: int) -> int:
        time.sleep(0.003)
        return item


class Numbers(Dataset[int]):
    def __init__(self) -> None:
        self.transform = Slow()

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        return self.transform(index)


def numbers() -> DataLoader[int]:
    return DataLoader(Numbers(), batch_size=4)


class Callback:
    """What transformers has of a TrainerCallback, Lightning of a Callback."""

    state_key = ""


class Profiler:
    """What Lightning has of a Profiler."""

    def setup(self, stage: Any, local_rank: Any = None, log_dir: Any = None) -> None:
        pass

    def teardown(self, stage: Any) -> None:
        pass


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """transformers and pytorch_lightning, as far as we use them."""
    transformers, pl, profilers = (
        ModuleType(name) for name in ("transformers", "pytorch_lightning", "pytorch_lightning.profilers")
    )
    transformers.TrainerCallback = pl.Callback = Callback  # type: ignore[attr-defined]
    profilers.Profiler = Profiler  # type: ignore[attr-defined]
    for module in (transformers, pl, profilers):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield
    for name in ("transformers", "lightning"):
        sys.modules.pop(f"annotate.integrations.{name}", None)


class Loop:
    """A Trainer: calls a callback or a profiler as transformers or Lightning does."""

    def __init__(self, ours: Any) -> None:
        self.ours = ours
        self.batches: list[Any] = []

    def hugging_face(self, steps: int = 10, resumed_at: int = 0) -> None:
        loader, state = numbers(), SimpleNamespace(global_step=resumed_at)
        self.ours.on_train_begin(None, state, None, train_dataloader=loader)
        for number, batch in enumerate(loader):
            self.ours.on_step_begin(None, state, None)
            self.batches.append(batch)
            self.ours.on_step_end(None, state, None)
            if number + 1 == steps:
                break
        self.ours.on_train_end(None, state, None)

    def lightning(self, fails_at: int = -1) -> None:
        loader = numbers()
        self.ours._lightning_module = SimpleNamespace(trainer=SimpleNamespace(train_dataloader=loader))
        self.ours.setup("fit", None, None)
        fetch = "[_TrainingEpochLoop].train_dataloader_next"
        with self.ours.profile("run_training_epoch"):
            batches = iter(loader)
            while True:
                self.ours.start(fetch)
                batch = next(batches, None)
                self.ours.stop(fetch)
                if batch is None:
                    break
                with self.ours.profile("[Strategy]Single.batch_to_device"):
                    self.batches.append(batch)
                with self.ours.profile("run_training_batch"):
                    if len(self.batches) == fails_at:
                        raise KeyError("in the batch")
        self.ours.teardown("fit")


@pytest.mark.usefixtures("frameworks")
def test_a_trainer_of_transformers_is_recorded(tmp_path: Path) -> None:
    ours = annotate.integrations.transformers.DataPipelineCallback(tmp_path, **COUNTS)
    Loop(ours).hugging_face()
    (capture,) = read_report(tmp_path)
    assert [item.number for item in capture.steps.items] == [3, 4, 5, 6]
    assert max(capture.loader.wait_by_stage_us, key=capture.loader.wait_by_stage_us.__getitem__) == "transform::Slow"
    assert len(ours.trace_files) == 1


@pytest.mark.usefixtures("frameworks")
@pytest.mark.parametrize(("resumed_at", "steps"), [(0, [0, 1, 2]), (50, [1, 2])])
def test_the_first_step_after_a_resume_is_left_out(tmp_path: Path, resumed_at: int, steps: list[int]) -> None:
    ours = annotate.integrations.transformers.DataPipelineCallback(tmp_path, wait=0, warmup=0, active=3)
    with pytest.warns(UserWarning, match="with warmup=0 the first recorded step") as caught:
        Loop(ours).hugging_face(resumed_at=resumed_at)
    assert len(caught) == 1
    (capture,) = read_report(tmp_path)
    assert [item.number for item in capture.steps.items] == steps


@pytest.mark.usefixtures("frameworks")
def test_a_step_that_the_end_of_the_training_cuts_off_is_left_out(tmp_path: Path) -> None:
    ours = annotate.integrations.transformers.DataPipelineCallback(tmp_path, wait=0, warmup=1, active=30)
    Loop(ours).hugging_face(steps=5)
    (capture,) = read_report(tmp_path)
    assert [item.number for item in capture.steps.items] == [1, 2, 3, 4]


@pytest.mark.usefixtures("frameworks")
def test_a_trainer_of_lightning_is_recorded_with_its_copies(tmp_path: Path) -> None:
    ours = annotate.integrations.lightning.DataPipelineProfiler(tmp_path, **COUNTS)
    Loop(ours).lightning()
    (capture,) = read_report(tmp_path)
    assert capture.steps.count == capture.loader.wait_count == 4
    stages = {f"{stage.kind}::{stage.label}" for stage in capture.stages}
    assert {"wait::DataLoader", "h2d::batch_to_device", "transform::Slow"} <= stages


@pytest.mark.usefixtures("frameworks")
def test_a_fit_that_fails_ends_the_capture(tmp_path: Path) -> None:
    ours = annotate.integrations.lightning.DataPipelineProfiler(tmp_path, **COUNTS)
    with pytest.raises(KeyError):
        Loop(ours).lightning(fails_at=5)
    assert not session.is_on()
    ours.setup("fit")
    assert session.is_on()
    ours.teardown("fit")


@pytest.mark.usefixtures("frameworks")
def test_validation_alone_is_not_recorded(tmp_path: Path) -> None:
    ours = annotate.integrations.lightning.DataPipelineProfiler(tmp_path)
    ours.setup("validate")
    assert not session.is_on()


def test_the_next_training_ends_a_capture_that_nobody_ended(tmp_path: Path) -> None:
    driver = Driver("Ours", tmp_path, COUNTS)
    driver.enter()
    driver.enter()
    assert driver.is_on
    driver.leave()
    assert not session.is_on()


def test_beside_another_profiler_it_is_one_warning(tmp_path: Path) -> None:
    driver = Driver("Ours", tmp_path, COUNTS)
    with torch.profiler.profile(), pytest.warns(RuntimeWarning, match="^annotate: Ours does not record.*another torch"):
        driver.enter()
    assert not driver.is_on
    for call in (driver.batch_begins, driver.batch_ends, driver.closes, driver.leave):
        call()


def test_a_folder_that_cannot_be_written_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    driver = Driver("Ours", tmp_path / "file" / "below", COUNTS)
    with pytest.warns(RuntimeWarning, match="^annotate: Ours does not record this training"):
        driver.enter()
    assert not driver.is_on


def test_bad_keywords_are_refused_where_they_are_given(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="active must be at least 1"):
        Driver("Ours", tmp_path, {"active": 0})
    with pytest.raises(ValueError, match="logdir is empty"):
        Driver("Ours", "", {})
    with pytest.raises(TypeError, match="with_stak"):
        Driver("Ours", tmp_path, {"with_stak": True})


FAULTS: dict[str, tuple[object, str]] = {
    "enter": (Profile, "__enter__"),
    "step": (Profile, "advance"),
    "follow": (session.Session, "step_by"),
    "leave": (Profile, "__exit__"),
    "span": (switch, "opened"),
    "name": (switch, "hand_out"),
}


@pytest.mark.usefixtures("frameworks")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("trainer", ["hugging_face", "lightning"])
def test_a_fault_of_ours_never_reaches_the_training(
    tmp_path: Path, trainer: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    integrations = annotate.integrations
    module = integrations.transformers if trainer == "hugging_face" else integrations.lightning
    make: Callable[..., Any] = getattr(
        module, "DataPipelineCallback" if trainer == "hugging_face" else "DataPipelineProfiler"
    )
    loop = Loop(make(tmp_path, **COUNTS))
    real_exit = Profile.__exit__

    def broken(self: Any, *args: object) -> None:
        if fault == "leave":
            real_exit(self, None, None, None)
        raise ZeroDivisionError("planted")

    holder, name = FAULTS[fault]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with monkeypatch.context() as patch:
            patch.setattr(holder, name, broken)
            getattr(loop, trainer)()
        driver: Driver = loop.ours._driver
        driver.leave()
    assert [batch.tolist() for batch in loop.batches] == [batch.tolist() for batch in numbers()]
    said = [str(warning.message) for warning in caught if "planted" in str(warning.message)]
    assert len(said) <= 1
    assert all(text.startswith("annotate") and "\n" not in text for text in said)
    assert not session.is_on()


def test_what_drives_a_capture_travels_without_it(tmp_path: Path) -> None:
    driver = Driver("Ours", tmp_path, COUNTS)
    driver.enter()
    try:
        for other in (pickle.loads(pickle.dumps(driver)), copy.deepcopy(driver)):
            assert not other.is_on
            other.leave()
        assert driver.is_on
    finally:
        driver.leave(KeyboardInterrupt())


@pytest.mark.parametrize(
    ("module", "library"), [("lightning", "lightning"), ("transformers", "transformers"), ("accelerate", "accelerate")]
)
def test_a_framework_that_is_not_there_is_one_line(module: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers", "accelerate"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"pip install {library}") as error:
        importlib.import_module(f"annotate.integrations.{module}")
    assert "\n" not in str(error.value)


def test_importing_annotate_imports_no_framework() -> None:
    code = (
        "import sys, annotate, annotate.integrations\n"
        "print([name for name in ('torch', 'lightning', 'transformers', 'accelerate') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_auto_holds_under_annotate_profile(tmp_path: Path) -> None:
    annotate.auto(skip=[skipped := numbers()])
    with annotate.profile(tmp_path, **COUNTS) as prof:
        for _ in skipped:
            pass
        for _ in numbers():
            prof.step()
    (capture,) = read_report(tmp_path)
    assert max(capture.loader.wait_by_stage_us, key=capture.loader.wait_by_stage_us.__getitem__) == "transform::Slow"
    assert driving.missing("a", "b", ImportError("c")).name == "a"
