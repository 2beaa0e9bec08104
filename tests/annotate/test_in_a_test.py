"""The fixture `data_pipeline` around a real loop: captured by annotate, checked by `tb_dataplugin`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from tb_dataplugin.checks.pipeline import CheckSettings, DataPipeline


class Slow(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.001)
        return torch.tensor([index])


def test_a_loop_is_captured_ends_then_and_is_checked_by_its_steps(tmp_path: Path) -> None:
    failed: list[str] = []
    settings = CheckSettings(
        folder=tmp_path, baselines=tmp_path, own_baseline="b.json", update="replace", fail=fail_into(failed)
    )
    pipeline, seen = DataPipeline(settings), 0
    with pipeline.capture(steps=8, wait=1, warmup=1, lines=False, host_sample_ms=0) as prof:
        for _ in prof.steps(DataLoader(Slow(), batch_size=2)):
            seen += 1
    assert 8 <= seen <= 12, "the loop ends when its window is written"
    assert [capture.steps.count for capture in pipeline.captures] == [8]
    with pytest.raises(AssertionError):
        pipeline.check(max_data_wait="10%", min_samples_per_s=1)
    (message,) = failed
    assert "limited by: sample::Slow" in message and str(tmp_path) in message
    pipeline.check_against_baseline()
    assert (tmp_path / "b.json").stat().st_size < 200_000


def fail_into(messages: list[str]) -> Callable[[str], NoReturn]:
    def fail(message: str) -> NoReturn:
        messages.append(message)
        raise AssertionError(message)

    return fail
