"""What stands between a loader and the loop is known to the trace, whoever's profiler records it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load
from torch.profiler import ProfilerActivity
from torch.utils.data import DataLoader, TensorDataset

import annotate
from annotate.recording import callers
from annotate.trace_format import METADATA_KEY

BATCHES = 6


def augmented(batches: Iterable[Any]) -> Iterator[Any]:
    for (batch,) in batches:
        yield batch + 1


def packed(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches


class Mixed:
    def __init__(self, batches: Iterable[Any]) -> None:
        self.batches = iter(batches)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        (batch,) = next(self.batches)
        return batch


def loader(workers: int = 0) -> DataLoader[Any]:
    return annotate.loader(DataLoader(TensorDataset(torch.ones(BATCHES * 2, 3)), batch_size=2, num_workers=workers))


def train(batches: Iterable[Any]) -> Iterator[float]:
    """A loop that is a generator."""
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for batch in batches:
        model(batch[0] if isinstance(batch, list) else batch).sum().backward()
        optimizer.step()
        yield 0.0


def fit(batches: Iterable[Any]) -> None:
    for _ in train(batches):
        pass


def callers_in(folder: Path, batches: Iterable[Any]) -> list[dict[str, Any]]:
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], on_trace_ready=annotate.trace_handler(folder)):
        fit(batches)
    (file,) = folder.glob("*.json.gz")
    found: list[dict[str, Any]] = load(str(file))[METADATA_KEY].get("callers", [])
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_a_generator_around_the_loader_is_known_and_the_loop_is_told_by_its_steps(tmp_path: Path, workers: int) -> None:
    around, loop = callers_in(tmp_path, augmented(loader(workers)))
    assert (around["function"], around["file"], around["first"]) == (
        "augmented",
        __file__,
        augmented.__code__.co_firstlineno,
    )
    assert around["generator"]
    assert (around["steps_inside"], around["steps"]) == (0, BATCHES)
    assert around["batches"] >= BATCHES
    assert (loop["function"], loop["steps_inside"]) == ("train", BATCHES)


def test_generators_around_generators_are_known_from_the_loader_outwards(tmp_path: Path) -> None:
    names = [each["function"] for each in callers_in(tmp_path, packed(augmented(loader())))]
    assert names == ["augmented", "packed", "train"]


def test_a_class_with_a_next_of_its_own_is_one_too(tmp_path: Path) -> None:
    around, _ = callers_in(tmp_path, Mixed(loader()))
    name = "Mixed.__next__" if sys.version_info >= (3, 11) else "__next__"  # code objects had no qualified name
    assert (around["function"], around["generator"]) == (name, False)


def test_under_annotate_profile_its_step_tells_the_loop(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof:
        for _ in augmented(loader()):
            prof.step()
    (around,) = load(prof.trace_files[0])[METADATA_KEY]["callers"]
    assert (around["function"], around["steps_inside"]) == ("augmented", 0)
    assert around["steps"] >= 2


def test_a_plain_loop_has_none(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof:
        for _ in loader():
            prof.step()
    assert "callers" not in load(prof.trace_files[0])[METADATA_KEY]


def test_where_looking_fails_the_batches_and_the_trace_are_as_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(frame: object) -> list[Any]:
        raise RuntimeError("planted")

    monkeypatch.setattr(callers, "_around", fail)
    seen = []
    with (
        pytest.warns(RuntimeWarning, match="planted") as said,
        annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof,
    ):
        for batch in augmented(loader()):
            seen.append(batch)
            prof.step()
    assert len(seen) == BATCHES
    assert len(said) == 1
    assert "callers" not in load(prof.trace_files[0])[METADATA_KEY]
