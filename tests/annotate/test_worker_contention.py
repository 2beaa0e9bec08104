"""On a machine that has less cores than it has work, a stage's time must stay the stage's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.utils.data import DataLoader, Dataset

import annotate
from tests.annotate_spans import self_times


class Step:
    """Works for two milliseconds or so of CPU time."""

    def __call__(self, value: int) -> int:
        for _ in range(40_000):
            value += 1
        return value


class Numbers(Dataset[int]):
    def __init__(self) -> None:
        self.transform = annotate.compose([Step(), Step(), Step(), Step(), Step()])

    def __len__(self) -> int:
        return 96

    def __getitem__(self, index: int) -> int:
        result: int = self.transform(index)
        return result


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Four processes that never rest."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.wait()


@pytest.mark.alone
@pytest.mark.usefixtures("busy_machine")
def test_lost_cores_do_not_move_time_from_a_stage_to_the_one_around_it(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=8, num_workers=2))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=20) as prof:
        for _ in prof.steps(loader):
            pass
    found = self_times(Path(prof.trace_files[0]))
    assert found["transform::Compose"] < 0.1 * found["transform::Step"]
