"""A reading of CPU time in which the thread lost its CPU travels to the trace, from workers and the training thread."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from capture_helpers import load
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.recording import span_recorder
from annotate.trace_format import MARKER_CATEGORY

WAIT_S = 0.001


class Numbers(Dataset[Any]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        time.sleep(0.0005)
        return index


def cpu_clock() -> int:
    time.sleep(WAIT_S)
    return time.thread_time_ns()


@pytest.mark.parametrize("workers", [0, 1])
def test_readings_that_took_long_stand_in_the_trace_by_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr(span_recorder, "cpu_clock", cpu_clock)  # a forked worker has it too
    context = "fork" if workers else None
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, num_workers=workers, multiprocessing_context=context))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        for _ in prof.steps(loader):
            pass
    trace = load(prof.trace_files[-1])
    samples = [event for event in trace["traceEvents"] if event.get("cat") == MARKER_CATEGORY]
    samples = [event for event in samples if event["name"] == "sample::Numbers"]
    readings = trace["dataPipeline"]["cpu_readings"]
    rows = list(zip(readings["pid"], readings["start_us"], readings["length_us"], strict=True))
    assert min(readings["length_us"]) > span_recorder.STALE_NS / 1000
    (pid,) = {event["pid"] for event in samples}
    assert (pid == os.getpid()) == (workers == 0)
    for sample in samples:
        end = sample["ts"] + sample["dur"]
        its = [row for row in rows if row[0] == pid and sample["ts"] < row[1] < end]
        start_us, length_us = its[-1][1:]
        assert length_us >= WAIT_S * 1e6
        if workers:  # of the training thread it is the row inside torch's marker that it ends
            assert start_us + length_us == pytest.approx(end, abs=0.01)


def test_a_stage_of_the_training_thread_does_not_begin_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work before it has used up the time slice. A stranger's sampler took 5 ms of data wait each step."""
    monkeypatch.setattr(span_recorder, "cpu_clock", cpu_clock)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        for _ in prof.steps(loader):
            with annotate.stage("user", "augment"):
                time.sleep(0.0005)
    trace = load(prof.trace_files[-1])
    readings = trace["dataPipeline"]["cpu_readings"]["start_us"]
    spans = [event for event in trace["traceEvents"] if event.get("cat") == MARKER_CATEGORY]
    stages = [event for event in spans if event["name"].startswith(("sample::", "user::"))]
    assert len({event["name"] for event in stages}) == 2
    for event in stages:
        assert not any(0 <= start - event["ts"] < 200 for start in readings), event["name"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_wait_does(workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop has asked for its batch: with busy workers a step lost its CPU there for 3 ms, which were the step's."""
    monkeypatch.setattr(span_recorder, "cpu_clock", cpu_clock)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, num_workers=workers))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=4) as prof:
        for _ in prof.steps(loader):
            time.sleep(0.02)
    trace = load(prof.trace_files[-1])
    readings = trace["dataPipeline"]["cpu_readings"]
    spans = [event for event in trace["traceEvents"] if event.get("cat") == MARKER_CATEGORY]
    waits = [event for event in spans if event["name"].startswith("wait::")]
    assert len(waits) >= 3
    for wait in waits:
        within = [start for start in readings["start_us"] if wait["ts"] <= start <= wait["ts"] + wait["dur"]]
        assert within and min(within) - wait["ts"] < 1000, "it begins with one"
