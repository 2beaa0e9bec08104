"""What a capture says: at the user's own line, with what to do."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch.profiler
from torch.utils.data import DataLoader

import annotate
from annotate.capture.steadiness import Loop, schedule_of
from annotate.options import CaptureOptions


def loader_of(count: int) -> Any:
    return DataLoader(list(range(count)), batch_size=1)  # type: ignore[arg-type]


def capture(folder: Path, steps: int, **schedule: Any) -> list[warnings.WarningMessage]:
    loader = annotate.loader(loader_of(steps))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with annotate.profile(folder, **schedule) as prof:
            for _ in prof.steps(loader):
                pass
    return said


def test_a_window_that_the_loop_cuts_short_is_said_with_its_steps(tmp_path: Path) -> None:
    (said,) = capture(tmp_path, 6, wait=1, warmup=1, active=30)
    assert "recorded 4 of the 30 steps" in str(said.message)
    assert said.filename == __file__


def test_a_window_that_is_whole_or_ends_in_its_last_step_is_not(tmp_path: Path) -> None:
    assert capture(tmp_path, 6, wait=1, warmup=1, active=4) == []
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        for number, _ in enumerate(prof.steps(annotate.loader(loader_of(9)))):
            if number == 4:
                break


def test_a_warm_up_of_no_step_is_said_at_the_users_line(tmp_path: Path) -> None:
    (said,) = capture(tmp_path, 3, wait=0, warmup=0, active=2)
    assert "warmup=0" in str(said.message)
    assert said.filename == __file__


@pytest.mark.parametrize("counts", [(0, 1, 1, 1), (2, 1, 3, 2), (1, 2, 2, 0)])
def test_counted_steps_are_recorded_as_by_torchs_own_schedule(counts: tuple[int, int, int, int]) -> None:
    wait, warmup, active, repeat = counts
    options = CaptureOptions(logdir=Path(), wait=wait, warmup=warmup, active=active, repeat=repeat)
    ours = schedule_of(options, lambda: Loop(0, 0, None))
    theirs = torch.profiler.schedule(wait=wait, warmup=warmup, active=active, repeat=repeat)
    assert [ours(step) for step in range(20)] == [theirs(step) for step in range(20)]


def test_without_torch_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.path = [path for path in sys.path if 'site-packages' not in path]; import annotate\n"
        "for call in (lambda: annotate.profile('x'), lambda: annotate.replay(1, 'x'), annotate.auto,\n"
        "             lambda: annotate.monitor(1), lambda: annotate.watch(1, 'x')):\n"
        "    try: call()\n"
        "    except ModuleNotFoundError as error: print(error.name, error)\n"
        "annotate.compose([len]); annotate.stage('read')\n"
    )
    root = str(Path(annotate.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.stderr == ""
    assert len(lines) == 5
    assert all(line.startswith("torch ") and "pip install tb-dataplugin[torch]" in line for line in lines)
