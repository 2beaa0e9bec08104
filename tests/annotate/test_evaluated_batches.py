"""Batches that a program which trains takes without gradients are an evaluation's, and no steps of the training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.launch.waiting import Waiting
from annotate.recording import boundaries


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program has taken no batch yet."""
    monkeypatch.setattr(boundaries, "_with_gradients", 0)


def batches(count: int) -> Iterator[Any]:
    data = TensorDataset(torch.arange(2.0 * count))
    yield from annotate.loader(DataLoader(data, batch_size=2))


def evaluate(count: int) -> None:
    with torch.no_grad():
        for _ in batches(count):
            pass


def train(count: int) -> None:
    for _ in batches(count):
        pass


def steps_of(path: Path, *parts: Any) -> dict[str, Any]:
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as prof:
        for part, count in parts:
            part(count)
    prof.export_chrome_trace(str(path / "x.pt.trace.json"))
    found: dict[str, Any] = json.loads((path / "x.pt.trace.json").read_text())["dataPipeline"]["steps"]
    assert found["source"] == "batch"
    return found


def trained(count: int = 20) -> None:
    for _ in range(count):
        boundaries.took_batch()


def test_a_window_in_an_evaluation_of_a_program_that_trains_says_so(tmp_path: Path) -> None:
    trained()
    steps = steps_of(tmp_path, (evaluate, 6))
    assert steps["evaluates"] is True and len(steps["boundaries_us"]) == 6


def test_a_program_that_only_predicts_has_steps_that_are_batches(tmp_path: Path) -> None:
    trained(2)  # a look at its batches
    steps = steps_of(tmp_path, (evaluate, 6))
    assert steps["evaluates"] is False and len(steps["boundaries_us"]) == 6


def test_batches_of_an_evaluation_are_no_steps_beside_those_that_are_trained_on(tmp_path: Path) -> None:
    trained()
    steps = steps_of(tmp_path, (train, 3), (evaluate, 6), (train, 2))
    assert steps["evaluates"] is False and len(steps["boundaries_us"]) == 5


def test_a_window_waits_for_the_end_of_an_evaluation_but_not_for_ever() -> None:
    waiting = Waiting(0, 10)
    with torch.no_grad():
        assert not waiting.is_in_evaluation(40), "nothing has trained"
    trained()
    assert not waiting.is_in_evaluation(40)
    with torch.no_grad():
        assert [waiting.is_in_evaluation(40) for _ in range(41)] == [True] * 40 + [False]
    assert not waiting.is_in_evaluation(None)
    with torch.no_grad():
        assert [waiting.is_in_evaluation(None) for _ in range(21)] == [True] * 20 + [False]
