"""What the training thread's own spans carry beside their times: as in workers."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from capture_helpers import load, record_all
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.recording import span_recorder, switch
from annotate.trace import clock
from annotate.trace_format import MARKER_CATEGORY, parse_span_name

WORK_NS = 3_000_000


def spin() -> None:
    begin = time.thread_time_ns()
    while time.thread_time_ns() - begin < WORK_NS:
        pass


class Spins:
    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        spin()
        return value.repeat(10)


class Sleeps:
    def __call__(self, value: torch.Tensor) -> torch.Tensor:
        time.sleep(0.003)
        return value[:4]


class Numbers(Dataset[Any]):
    def __init__(self) -> None:
        self.transform = annotate.compose([Spins(), Sleeps()])

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return self.transform(torch.full((10,), index))


def markers(path: str) -> list[dict[str, Any]]:
    """Our spans, by time."""
    found = [
        event
        for event in load(path)["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") == MARKER_CATEGORY and parse_span_name(event["name"])
    ]
    return sorted(found, key=lambda event: event["ts"])


def named(path: str, name: str) -> list[dict[str, Any]]:
    return [event for event in markers(path) if event["name"] == name]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    loader = annotate.loader(DataLoader(Numbers(), batch_size=2, sampler=[5, 3, 1, 0, 2, 4]))
    with annotate.profile(tmp_path, wait=0, warmup=1, active=2) as prof:
        for _ in prof.steps(loader):
            pass
    return prof.trace_files[-1]


def test_every_span_carries_its_cpu_time(trace: str) -> None:
    for event in markers(trace):
        assert 0 <= event["args"]["cpu_us"] <= event["dur"] + 100, event
    assert all(event["args"]["cpu_us"] > 2900 for event in named(trace, "transform::Spins"))
    assert all(event["args"]["cpu_us"] < 1000 for event in named(trace, "transform::Sleeps"))
    assert all(event["args"]["cpu_us"] > 5800 for event in named(trace, "wait::DataLoader"))


def test_samples_and_what_lies_in_them_carry_the_dataset_index(trace: str) -> None:
    for name in ("sample::Numbers", "transform::Spins"):
        assert [event["args"]["index"] for event in named(trace, name)] == [1, 0, 2, 4]
    assert "index" not in named(trace, "collate::default_collate")[0]["args"]


def test_sizes_of_results_are_measured_now_and_then(trace: str) -> None:
    assert named(trace, "transform::Spins")[0]["args"]["bytes"] == 800
    assert named(trace, "transform::Sleeps")[0]["args"]["bytes"] == 32
    assert named(trace, "collate::default_collate")[0]["args"]["bytes"] == 64
    assert "bytes" not in named(trace, "sample::Numbers")[0]["args"]


def test_torchs_own_arguments_stay(trace: str) -> None:
    assert all("External id" in event["args"] for event in markers(trace))


def test_the_window_tells_what_the_thread_spent(trace: str) -> None:
    told = load(trace)["dataPipeline"]["training_thread"]
    assert told["cpu_us"] > 4 * 2900 and 0 <= told["run_delay_us"] < 10_000_000
    assert told["process_cpu_us"] >= 0.9 * told["cpu_us"]


def test_a_replay_carries_them_too(tmp_path: Path) -> None:
    path = annotate.replay(DataLoader(Numbers(), batch_size=2), tmp_path, batches=3, progress=False)
    assert [event["args"]["index"] for event in named(path, "sample::Numbers")] == [0, 1, 2, 3, 4, 5]
    assert all("cpu_us" in event["args"] for event in markers(path))


def test_spans_of_one_name_inside_each_other_keep_their_own(tmp_path: Path) -> None:
    def code() -> None:
        with annotate.stage("user", "x"):
            spin()
            with annotate.stage("user", "x"):
                spin()

    with annotate.profile(tmp_path, schedule=record_all) as prof:
        code()
    outer, inner = (event["args"]["cpu_us"] for event in named(prof.trace_files[-1], "user::x"))
    assert inner > 2900 and outer - inner > 2900


def test_other_threads_have_rows_of_their_own(tmp_path: Path) -> None:
    threads = []

    def elsewhere() -> None:
        threads.append(threading.get_native_id())
        with annotate.stage("user", "elsewhere"):
            spin()

    with annotate.profile(tmp_path, schedule=record_all) as prof:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        elsewhere()
    spans = named(prof.trace_files[-1], "user::elsewhere")
    assert sorted(span["tid"] for span in spans) == sorted(threads)
    assert {span["pid"] for span in spans} == {os.getpid()}
    assert all(span["args"]["cpu_us"] > 2900 and span["dur"] > 2900 for span in spans)


def test_a_name_that_kineto_cannot_write_finds_its_record(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, schedule=record_all) as prof, annotate.stage("user", 'a "quoted" name'):
        spin()
    [event] = named(prof.trace_files[-1], 'user::a "quoted" name')
    assert event["args"]["cpu_us"] > 2900


def test_a_stage_open_when_the_window_closes_is_left_out_and_harms_no_later_one(tmp_path: Path) -> None:
    with annotate.profile(tmp_path, wait=0, warmup=1, active=1, repeat=2) as prof:
        prof.step()
        with annotate.stage("user", "across"):
            prof.step()
        prof.step()
        with annotate.stage("user", "across"):
            spin()
        prof.step()
    assert len(prof.trace_files) == 2
    assert [event["args"]["cpu_us"] > 2900 for event in named(prof.trace_files[-1], "user::across")] == [True]


class Hashes(Dataset[int]):
    """Indices of 64 bits and more, tiny items."""

    def __len__(self) -> int:
        return 1 << 62

    def __getitem__(self, index: int) -> int:
        return index % 1000


def test_an_index_beyond_64_bits_is_no_index(tmp_path: Path) -> None:
    drawn = [1 << 63, 5, 1 << 70, (1 << 40) + 1]
    loader = annotate.loader(DataLoader(Hashes(), batch_size=2, sampler=drawn))
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        assert [batch.tolist() for batch in loader] == [[one % 1000 for one in drawn[i : i + 2]] for i in (0, 2)]
    told = [event["args"].get("index") for event in named(prof.trace_files[-1], "sample::Hashes")]
    assert told == [None, 5, None, (1 << 40) + 1]


def test_spans_of_a_microsecond_keep_their_own_index(tmp_path: Path) -> None:
    loader = annotate.loader(DataLoader(Hashes(), batch_size=500, sampler=range(500)))
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        for _ in loader:
            pass
    told = [event["args"].get("index") for event in named(prof.trace_files[-1], "sample::Hashes")]
    assert sum(one == place for place, one in enumerate(told)) >= 495  # the clocks agree to less than a microsecond


def test_a_marked_sample_carries_no_size_as_its_index(tmp_path: Path) -> None:
    @annotate.stage("sample")
    def fetch() -> bytes:
        return bytes(500)

    with annotate.profile(tmp_path, schedule=record_all) as prof:
        fetch()
    [event] = named(prof.trace_files[-1], "sample::fetch")
    assert not {"index", "bytes"} & set(event["args"])


def test_everything_is_put_back_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), annotate.profile(tmp_path, schedule=record_all), annotate.stage("user", "x"):
        raise KeyError
    assert switch.recorder is switch.TORCH_MARKERS and not span_recorder.rows
    with switch.marker("x"):  # torch's own
        assert not span_recorder.rows


def test_records_that_fit_no_marker_are_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that do not match: no arguments rather than a neighbour's."""
    real = clock.Clock.ts_ns
    monkeypatch.setattr(clock.Clock, "ts_ns", lambda self, perf: real(self, perf) + 3_600_000_000_000)
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        with annotate.stage("user", "x"):
            spin()
        with annotate.stage("user", "x"):
            time.sleep(0.001)
    assert all("cpu_us" not in event["args"] for event in named(prof.trace_files[-1], "user::x"))


def test_what_dataloader_workers_that_are_not_followed_used_is_recorded_and_who_they_are(tmp_path: Path) -> None:
    """As those behind a queue that the loop iterates: without that they look like other programs."""
    batches = iter(DataLoader(Numbers(), batch_size=1, num_workers=1))
    next(batches)
    own = {worker.pid for worker in batches._workers}  # type: ignore[attr-defined]  # it is the one with workers
    with annotate.profile(tmp_path, schedule=record_all) as prof:
        for _ in prof.steps(batch for batch in batches):
            pass
    told = load(prof.trace_files[-1])["dataPipeline"]
    assert not told["workers"] and told["training_thread"]["lasting_children_cpu_us"] >= 0
    if hasattr(torch.multiprocessing, "_set_thread_name"):
        assert own and own <= set(told["training_thread"]["loader_worker_pids"]), "an earlier test may have left more"
