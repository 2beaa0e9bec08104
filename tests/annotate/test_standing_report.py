"""Under the user's own profiler the report names what is slow, as it does under `annotate.profile`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

import annotate
from tb_dataplugin import read_report


class Slow:
    def __call__(self, item: int) -> int:
        time.sleep(0.006)
        return item


class Quick:
    def __call__(self, item: int) -> int:
        time.sleep(0.0005)
        return item


class Planted(Dataset[int]):
    def __init__(self) -> None:
        self.transforms = annotate.compose([Quick(), Slow()])

    def __len__(self) -> int:
        return 120

    def __getitem__(self, index: int) -> int:
        item: int = self.transforms(index)
        return item


def train(loader: Any, prof: Any, *, steps: bool) -> None:
    for _ in loader:
        time.sleep(0.002)
        if steps:
            prof.step()


@pytest.mark.parametrize("workers", [0, 2])
def test_the_planted_transform_comes_first(tmp_path: Path, workers: int) -> None:
    loader = annotate.loader(DataLoader(Planted(), batch_size=4, num_workers=workers))
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=6, warmup=2, active=10, repeat=1),
        on_trace_ready=tensorboard_trace_handler(str(tmp_path)),
    ) as prof:
        train(loader, prof, steps=True)
    (capture,) = read_report(tmp_path)
    assert capture.steps.count == 10
    assert capture.loader.num_workers == workers
    assert capture.loader.wait_count == 10
    assert max(capture.loader.wait_by_stage_us, key=capture.loader.wait_by_stage_us.__getitem__) == "transform::Slow"
    assert next(one.stage for one in capture.findings if one.stage) == "transform::Slow"
    assert not any(doubt.code not in ("short_window", "busy_machine") for doubt in capture.doubts)
    if workers:
        assert len(capture.workers) == 2
        prefetched = 2 * 2  # as many of the ten may have been finished before the window
        assert sum(worker.batches for worker in capture.workers) >= 10 - prefetched


@pytest.mark.parametrize("workers", [0, 2])
def test_and_where_the_profiler_is_never_told_of_steps(tmp_path: Path, workers: int) -> None:
    annotate.auto()
    loader = DataLoader(Planted(), batch_size=4, num_workers=workers)
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU], on_trace_ready=annotate.trace_handler(tmp_path)
    ) as prof:
        train(loader, prof, steps=False)
    (capture,) = read_report(tmp_path)
    assert capture.steps.count in (29, 30)
    assert max(capture.loader.wait_by_stage_us, key=capture.loader.wait_by_stage_us.__getitem__) == "transform::Slow"
    assert next(one.stage for one in capture.findings if one.stage) == "transform::Slow"
    if workers:
        assert len(capture.workers) == 2


def test_workers_that_had_started_before_are_at_the_top(tmp_path: Path) -> None:
    loader: DataLoader[int] = DataLoader(Planted(), batch_size=4, num_workers=2, persistent_workers=True)
    annotate.off()  # its transforms were annotated: it would be followed
    next(iter(loader))
    annotate.loader(loader)
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU], on_trace_ready=annotate.trace_handler(tmp_path)
    ) as prof:
        train(loader, prof, steps=False)
    (capture,) = read_report(tmp_path)
    assert capture.doubts[0].code == "late_workers"
    assert "its workers had started before the loader was annotated" in capture.doubts[0].sentence
    assert "annotate.loader or annotate.auto" in capture.doubts[0].sentence
