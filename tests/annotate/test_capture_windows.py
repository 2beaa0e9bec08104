"""A window opens before its first step, and only where something is recorded."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
import torch
from capture_helpers import load
from torch.utils.data import DataLoader

import annotate
from annotate.capture import sentences, steadiness
from annotate.capture.own_profiler import Profiler
from annotate.capture.torch_profiler import another_is_open
from annotate.host.sampler import HostSampler
from annotate.options import LEAST_STEPS


class Numbers(torch.utils.data.Dataset[int]):
    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int) -> int:
        return index


def test_what_opening_a_window_takes_is_in_none_of_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = HostSampler.start

    def slow_start(self: HostSampler) -> None:
        time.sleep(0.3)
        start(self)

    monkeypatch.setattr(HostSampler, "start", slow_start)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2, repeat=2) as prof:
        for _ in prof.steps(loader):
            pass
    assert len(prof.trace_files) == 2
    for path in prof.trace_files:
        steps = [event for event in load(path)["traceEvents"] if str(event["name"]).startswith("ProfilerStep#")]
        assert len(steps) == 2
        assert max(float(step["dur"]) for step in steps) < 200_000


def test_what_closing_a_window_takes_is_in_none_of_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = HostSampler.stop

    def slow_stop(self: HostSampler) -> None:
        time.sleep(0.3)
        stop(self)

    monkeypatch.setattr(HostSampler, "stop", slow_stop)
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2))
    with annotate.profile(tmp_path, wait=1, warmup=1, active=2) as prof:
        for _ in prof.steps(loader):
            pass
    steps = [e for e in load(prof.trace_files[0])["traceEvents"] if str(e["name"]).startswith("ProfilerStep#")]
    assert len(steps) == 2
    assert max(float(step["dur"]) for step in steps) < 200_000


def test_a_loop_that_ends_in_the_warm_up_opens_no_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    monkeypatch.setattr(HostSampler, "start", lambda self: opened.append(self))
    loader = annotate.loader(DataLoader(Numbers(), batch_size=20))
    with (
        pytest.warns(UserWarning, match="recorded nothing"),
        annotate.profile(tmp_path, wait=1, warmup=5, active=2) as prof,
    ):
        for _ in prof.steps(loader):
            pass
    assert opened == []


@pytest.mark.filterwarnings("error")
def test_a_window_that_was_not_reached_ends_no_program_whose_warnings_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=20))
    with annotate.profile(tmp_path, wait=1, warmup=5, active=2) as prof:
        for _ in prof.steps(loader):
            pass
    assert "UserWarning: annotate.profile recorded nothing" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("longest", "is_said"), [(0.0, True), (1000.0, False)])
def test_a_long_pause_at_the_end_of_a_window_is_said(
    longest: float, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "LONG_PAUSE_S", longest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with annotate.profile(tmp_path, wait=0, warmup=0, active=1) as prof:
            for _ in prof.steps(annotate.loader(DataLoader(Numbers()))):
                pass
    said = [str(one.message) for one in caught if "was paused for" in str(one.message)]
    assert len(said) == is_said


def test_a_window_whose_trace_would_pause_the_program_is_shorter_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steadiness, "LONG_PAUSE_S", 0.0)
    with annotate.profile(tmp_path) as prof:
        for _ in prof.steps(annotate.loader(DataLoader(Numbers()))):
            torch.ones(4) + 1
    trace = load(prof.trace_files[0])
    names = [event["name"] for event in trace["traceEvents"]]
    assert sum(name.startswith("ProfilerStep#") for name in names) == LEAST_STEPS
    assert names.count("aten::ones") == LEAST_STEPS
    (note,) = trace["dataPipeline"]["notes"]
    assert note.startswith("The window has 8 steps instead of ")
    assert note in capsys.readouterr().err


def test_a_profiler_that_begins_while_a_step_is_tried_has_its_trace_and_so_have_we(tmp_path: Path) -> None:
    theirs = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    tried = 0
    with annotate.profile(tmp_path) as prof:
        for _ in prof.steps(annotate.loader(DataLoader(Numbers()))):
            if prof.is_trying and not tried:
                tried += 1
                with theirs:
                    torch.ones(4) + 1
    assert tried == 1
    assert "aten::ones" in {event.key for event in theirs.key_averages()}
    (path,) = prof.trace_files
    assert "aten::ones" not in {event["name"] for event in load(path)["traceEvents"]}


def test_a_fault_of_ours_while_a_step_is_tried_costs_the_capture_and_not_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(self: Profiler) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(Profiler, "begin_trial", fault)
    with pytest.warns(Warning, match="Internal error: .*planted"), annotate.profile(tmp_path) as prof:
        batches = list(prof.steps(annotate.loader(DataLoader(Numbers()))))
    assert len(batches) == 60


def test_a_loop_that_ends_while_a_step_is_tried_leaves_no_profiler_behind(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="recorded nothing"), annotate.profile(tmp_path) as prof:
        for _ in prof.steps(annotate.loader(DataLoader(Numbers()))):
            if prof.is_trying:
                break
    assert not another_is_open()
    assert prof.trace_files == []
