"""Parts of a check that end as real ones may: for the runner's tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

from benchmarks.on_device_checks.rows import Row, same
from benchmarks.on_device_checks.setting import Setting


def run(setting: Setting, part: str) -> Iterator[Row]:
    assert setting.device == "cpu"
    yield same(f"{part}: begins", 1, 1)
    if part == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif part == "hangs":
        time.sleep(600)
    elif part == "raises":
        raise ValueError("no such kernel\nand more")
