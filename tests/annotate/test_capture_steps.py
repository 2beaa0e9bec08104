"""Steps that are taken twice, two profilers at once, and a step that has no batch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.profiler
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset, IterableDataset

import annotate


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        return index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(6))


def make_loader() -> DataLoader[int]:
    return DataLoader(Numbers(), batch_size=2)


def step_names(path: str) -> list[str]:
    events = load(path)["traceEvents"]
    return sorted(e["name"] for e in events if e["ph"] == "X" and e["name"].startswith("ProfilerStep#"))


def test_a_step_inside_of_steps_is_warned_about_once_where_it_stands(tmp_path: Path) -> None:
    warned = pytest.warns(UserWarning, match=r"two steps. Leave prof.step\(\) out")
    with annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof, warned as caught:
        for _ in prof.steps(make_loader()):
            prof.step()
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]


def test_a_step_that_was_broken_off_ends_when_the_next_loop_begins(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        for _ in range(3):
            for number, _ in enumerate(prof.steps(make_loader())):
                if number == 1:
                    break
    assert prof.step_num == 5
    assert len(step_names(prof.trace_files[0])) == 4


def test_steps_one_after_the_other_or_nested_are_fine(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with annotate.profile(tmp_path, wait=0, warmup=1, active=3) as prof:
            for number, _ in enumerate(prof.steps(make_loader())):
                if number == 1:
                    for _ in prof.steps(make_loader()):
                        break
            for _ in make_loader():
                prof.step()


def test_a_running_profiler_of_torch_is_an_error_before_anything_is_touched(tmp_path: Path) -> None:
    with torch.profiler.profile():
        with pytest.raises(RuntimeError, match=r"another torch\.profiler is open"):
            annotate.profile(tmp_path / "run").__enter__()
        with pytest.raises(RuntimeError, match=r"another torch\.profiler is open"):
            annotate.replay(make_loader(), tmp_path / "run", progress=False)


def test_a_profiler_of_torch_that_runs_when_the_window_is_due_keeps_the_window(tmp_path: Path) -> None:
    warned = pytest.warns(RuntimeWarning, match="stopped recording this window")
    with annotate.profile(tmp_path, wait=2, warmup=1, active=2) as prof, warned, torch.profiler.profile():
        for _ in prof.steps(make_loader()):
            pass


def test_a_replay_that_runs_out_of_batches_has_no_step_without_one(tmp_path: Path) -> None:
    path = annotate.replay(DataLoader(Stream(), batch_size=2), tmp_path, 16, progress=False)
    assert step_names(path) == ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2"]
