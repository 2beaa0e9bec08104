"""``iter(loader)`` is in the trace, once, wherever a loop starts DataLoader workers while a profiler records."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import annotate


class Numbers(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([index])


class Broken(DataLoader[torch.Tensor]):
    def __iter__(self) -> Any:
        raise KeyError("no such split")


def spans(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    events = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)["traceEvents"]
    return [each for each in events if str(each.get("name", "")).endswith(" (iter)")]


def profiled(loader: DataLoader[torch.Tensor], path: Path, epochs: int = 2) -> list[dict[str, Any]]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        for _ in range(epochs):
            assert len(list(loader)) == 4
    prof.export_chrome_trace(str(path))
    return spans(path)


@pytest.fixture
def auto() -> Any:
    annotate.auto()
    yield
    annotate.off()


@pytest.mark.parametrize("persistent", [False, True])
def test_each_epoch_has_one(auto: None, persistent: bool, tmp_path: Path) -> None:
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2, persistent_workers=persistent)
    found = profiled(loader, tmp_path / "trace.json")
    assert [each["name"] for each in found] == ["wait::DataLoader (iter)"] * 2
    assert all(each["dur"] > 0 for each in found)


def test_without_workers_there_is_nothing_to_wait_for(auto: None, tmp_path: Path) -> None:
    assert profiled(DataLoader(Numbers(), batch_size=2), tmp_path / "trace.json") == []


def test_a_wait_that_includes_it_has_none_of_its_own(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, num_workers=1))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=8) as prof:
        for _ in range(2):
            for _ in prof.steps(loader):
                pass
    (path,) = tmp_path.glob("*.gz")
    assert spans(path) == []


def test_what_iter_raises_is_the_programs(auto: None) -> None:
    loader = Broken(Numbers(), batch_size=2, num_workers=2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]), pytest.raises(KeyError) as raised:
        iter(loader)
    assert raised.value.args == ("no such split",) and raised.value.__context__ is None


def test_the_order_and_the_random_numbers_stay(tmp_path: Path) -> None:
    def order() -> tuple[list[int], float]:
        torch.manual_seed(5)
        loader = DataLoader(Numbers(), batch_size=2, num_workers=2, shuffle=True)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            drawn = [int(each) for batch in loader for each in batch]
        return drawn, float(torch.rand(()))

    without = order()
    annotate.auto()
    try:
        assert order() == without
    finally:
        annotate.off()
