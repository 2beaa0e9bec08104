"""Steps of a loop whose profiler is never told of them: by the optimizer, else by the batches."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim import optimizer
from torch.profiler import ProfilerActivity
from torch.utils.data import DataLoader, TensorDataset

import annotate
from tb_dataplugin import read_report


def make_loader(workers: int = 0) -> Any:
    data = TensorDataset(torch.arange(48, dtype=torch.float32).reshape(24, 2))
    return annotate.loader(DataLoader(data, batch_size=2, num_workers=workers))


class Model:
    def __init__(self) -> None:
        self.layer = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=0.0)

    def backward(self, batch: Any) -> None:
        self.layer(batch[0]).sum().backward()
        time.sleep(0.002)

    def step(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()


def record(path: Path, loop: Any, **keywords: Any) -> dict[str, Any]:
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], **keywords) as prof:
        loop(prof)
    path.parent.mkdir(exist_ok=True)
    prof.export_chrome_trace(str(path))
    found: dict[str, Any] = json.loads(path.read_text())
    assert not optimizer._global_optimizer_post_hooks, "the hook is out when the window has closed"
    return found


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("accumulated", [1, 3])
def test_a_step_ends_at_the_optimizer_and_may_have_several_batches(
    tmp_path: Path, workers: int, accumulated: int
) -> None:
    loader, model = make_loader(workers), Model()

    def loop(prof: Any) -> None:
        for number, batch in enumerate(loader, 1):
            model.backward(batch)
            if number % accumulated == 0:
                model.step()
                model.step()  # of another parameter group, say: no step of the loop

    path = tmp_path / "run" / "x.pt.trace.json"
    trace = record(path, loop)
    steps = trace["dataPipeline"]["steps"]
    assert steps["source"] == "optimizer"
    assert len(steps["boundaries_us"]) - 1 == 12 // accumulated
    assert not any(str(event["name"]).startswith("ProfilerStep") for event in trace["traceEvents"])
    (capture,) = read_report(path)
    assert capture.steps.count == 12 // accumulated
    assert capture.steps.mean_us >= 2000 * accumulated
    assert capture.window_us == pytest.approx(steps["boundaries_us"][-1] - steps["boundaries_us"][0], abs=0.01)


@pytest.mark.parametrize("workers", [0, 1])
def test_without_an_optimizer_a_step_ends_at_each_batch(tmp_path: Path, workers: int) -> None:
    loader = make_loader(workers)

    def loop(prof: Any) -> None:
        for _ in loader:
            time.sleep(0.002)

    path = tmp_path / "run" / "x.pt.trace.json"
    steps = record(path, loop)["dataPipeline"]["steps"]
    assert steps["source"] == "batch"
    assert len(steps["boundaries_us"]) in (12, 13)
    (capture,) = read_report(path)
    assert capture.steps.count in (11, 12)


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_schedule_whose_profiler_is_told_of_no_step_has_the_steps_of_the_loop(tmp_path: Path) -> None:
    """torch begins ProfilerStep#0 by itself, and it lasts to the end."""
    loader, model = make_loader(), Model()

    def loop(prof: Any) -> None:
        for number, batch in enumerate(loader, 1):
            model.backward(batch)
            if number % 2 == 0:
                model.step()

    schedule = torch.profiler.schedule(wait=0, warmup=0, active=1)
    path = tmp_path / "run" / "x.pt.trace.json"
    trace = record(path, loop, schedule=schedule)
    assert "ProfilerStep#0" in {event["name"] for event in trace["traceEvents"]}
    assert trace["dataPipeline"]["steps"]["source"] == "optimizer"
    (capture,) = read_report(path)
    assert capture.steps.count == 6


@pytest.mark.filterwarnings("ignore:Profiler won't be using warmup")
def test_a_single_step_that_the_profiler_was_told_of_is_its_own(tmp_path: Path) -> None:
    loader, model = make_loader(), Model()

    def loop(prof: Any) -> None:
        for number, batch in enumerate(loader, 1):
            model.backward(batch)
            if number % 3 == 0:
                model.step()
                prof.step()

    schedule = torch.profiler.schedule(wait=0, warmup=0, active=1, repeat=1)
    path = tmp_path / "run" / "x.pt.trace.json"
    assert record(path, loop, schedule=schedule)["dataPipeline"]["steps"] == {"source": "profiler"}
    (capture,) = read_report(path)
    assert capture.steps.count == 1
    (doubt,) = [doubt for doubt in capture.doubts if doubt.code == "short_window"]
    assert "Call prof.step() after each batch" in doubt.sentence


def test_spans_of_the_profiler_decide(tmp_path: Path) -> None:
    loader, model = make_loader(), Model()

    def loop(prof: Any) -> None:
        for batch in loader:
            model.backward(batch)
            model.step()
            prof.step()

    schedule = torch.profiler.schedule(wait=1, warmup=1, active=4, repeat=1)
    path = tmp_path / "run" / "x.pt.trace.json"
    assert record(path, loop, schedule=schedule)["dataPipeline"]["steps"] == {"source": "profiler"}
    (capture,) = read_report(path)
    assert capture.steps.count == 4


def test_a_hook_of_the_users_may_step_the_profiler(tmp_path: Path) -> None:
    loader, model = make_loader(), Model()
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=4, repeat=1)
    seen = []
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], schedule=schedule) as prof:
        handle = optimizer.register_optimizer_step_post_hook(lambda *_: prof.step())
        later = optimizer.register_optimizer_step_post_hook(lambda *_: seen.append(1))
        for batch in loader:
            model.backward(batch)
            model.step()
        handle.remove()
        later.remove()
    assert len(seen) == 12
    annotate.off()
    assert not optimizer._global_optimizer_post_hooks
