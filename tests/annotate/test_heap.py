"""What is in use of the C library's memory, which is not what stays resident."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from capture_helpers import load

import annotate
from annotate.host import heap


def test_what_is_freed_is_no_longer_in_use() -> None:
    before = heap.in_use()
    held = np.ones(4_000_000)
    with_it = heap.in_use()
    assert before is not None and with_it is not None
    assert with_it - before == pytest.approx(held.nbytes, rel=0.1)
    del held
    assert heap.in_use() == pytest.approx(before, abs=2e6)


def test_a_c_library_without_it_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert heap.in_use() is None


def test_a_trace_has_what_was_in_use_when_its_window_opened_and_closed(tmp_path: Path) -> None:
    kept = []
    with annotate.profile(tmp_path, wait=1, warmup=1, active=10, verdict=False) as prof:
        for _ in prof.steps(range(20)):
            kept += [np.ones(500_000)]
    begun, ended = load(Path(prof.trace_files[0]))["dataPipeline"]["overhead"]["heap_bytes"]
    assert ended - begun > 0.8 * 10 * kept[0].nbytes
