"""Where nothing but a stage was annotated, all DataLoaders are followed: any of them may run it in its workers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch.profiler
from torch.profiler import ProfilerActivity, tensorboard_trace_handler
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import standing
from annotate.workers import loaders


class Staged(Dataset[int]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        with annotate.stage("read", "shelf"):
            return index


def recorded(loader: DataLoader[int], folder: Path) -> dict[str, Any]:
    activities, ready = [ProfilerActivity.CPU], tensorboard_trace_handler(str(folder))
    with torch.profiler.profile(activities=activities, on_trace_ready=ready):
        assert [batch.tolist() for batch in loader] == [[n, n + 1] for n in range(0, 12, 2)]
    (path,) = folder.iterdir()
    text = path.read_bytes()
    found: dict[str, Any] = json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
    return found


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stage_in_the_workers_of_a_loader_that_nobody_annotated(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "_is_off", False)  # as in a process in which nobody called annotate.off
    annotate.stage("read", "first")
    trace = recorded(DataLoader(Staged(), batch_size=2, num_workers=workers), tmp_path)
    found = Counter(event["name"] for event in trace["traceEvents"] if event["ph"] == "X")
    assert found["read::shelf"] == 12
    assert found["sample::Staged"] == 12
    assert trace["dataPipeline"]["loaders"][0]["num_workers"] == workers


def test_a_stage_after_off_follows_nothing(tmp_path: Path) -> None:
    annotate.off()
    annotate.stage("read", "first")
    assert standing.current() is None
    assert "dataPipeline" not in recorded(DataLoader(Staged(), batch_size=2), tmp_path)


def test_a_process_with_too_many_loaders_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders, "MOST_LOADERS", 1)
    annotate.auto()
    list(DataLoader(Staged(), batch_size=2))
    trace = recorded(DataLoader(Staged(), batch_size=2), tmp_path)
    assert any("DataLoaders: the later ones are not recorded" in note for note in trace["dataPipeline"]["notes"])
