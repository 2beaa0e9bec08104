"""Makes torchvision importable, and proves that no test leaves a hook, a patch or the flag behind."""

from __future__ import annotations

import builtins
import io
import multiprocessing
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from torch.utils.data._utils import worker

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import cv2  # noqa: F401
import numpy as np
import PIL.Image
import PIL.ImageFile
import torchvision_cpu  # noqa: F401  (before torchvision)

import torchvision.io.image  # noqa: F401  # isort: skip

import annotate
from annotate.capture import session, standing, verdict
from annotate.hooks import marked, patching
from annotate.hooks.readers import HOOKS
from annotate.hooks.readers.timing import TimedFunction
from annotate.hooks.stand_ins import READER_HOOK
from annotate.recording import switch
from annotate.saying import forget_reported
from annotate.workers import following

multiprocessing.set_forkserver_preload(["__main__", "torch"])  # once, not in each worker


def pytest_configure(config: pytest.Config) -> None:
    """More workers than cores is what some tests are about."""
    config.addinivalue_line("filterwarnings", "ignore:This DataLoader will create")


def installed() -> dict[str, object]:
    """Everything of others that annotate may change globally."""
    found: dict[str, object] = {
        "builtins.open": builtins.open,
        "io.open": io.open,
        "process start": BaseProcess.start,
        "PIL.Image.open": PIL.Image.open,
        "PIL.ImageFile.load": PIL.ImageFile.ImageFile.load,
        "worker info": worker._worker_info,
        "torch threads": torch.get_num_threads(),
        "listener": marked.listener,
        "recording": switch.RECORDING,
        "sample": switch.thread.open.sample,
        "batch sample": switch.thread.open.batch_sample,
        "stages": list(switch.thread.open.stages),
        "session": session.is_on(),
        "DataLoader.__iter__": torch.utils.data.DataLoader.__iter__,
        "DataLoader._get_iterator": torch.utils.data.DataLoader._get_iterator,
        "profiler": {name: vars(torch.autograd.profiler.profile)[name] for name in standing._HOOKS},
        "in force": patching.in_force,
        "recorder": switch.recorder,
        "capturing": switch.CAPTURING,
        "at work": switch.AT_WORK,
        "refits": list(switch.refits),
        "followers": list(following._followers),
        "temporary folders": sorted(Path(tempfile.gettempdir()).glob(f"annotate-{os.getpid()}-*")),
    }
    for hook in HOOKS:
        function = getattr(hook.owner, hook.name, None)
        assert not isinstance(function, TimedFunction) and not hasattr(function, READER_HOOK), hook
        if function is not None:
            found[f"{hook.module}.{hook.function}"] = function
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """The standing hooks stay until they are taken out: `annotate.off` leaves nothing of them either."""
    annotate.off()
    forget_reported()
    before = installed()
    assert not before["recording"]
    assert before["session"] is False
    yield
    annotate.off()
    after = installed()
    assert {name: after[name] for name in before} == before


@pytest.fixture(autouse=True)
def no_verdicts() -> Iterator[None]:
    """Each would take a second of CPU; `test_verdict.py` has them asked for. By a patch of its own: that of the test is
    undone before `nothing_is_left_behind` looks.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "ask", lambda path: verdict.Answer())
        yield


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Four JPEG files of 96x64 pixels, of more than 8 KiB each."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    paths = []
    for number in range(4):
        path = folder / f"{number}.jpg"
        PIL.Image.fromarray(rng.integers(0, 255, (64, 96, 3), dtype=np.uint8)).save(path, quality=95)
        paths.append(str(path))
    return paths
