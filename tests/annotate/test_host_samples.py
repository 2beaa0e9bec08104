"""Samples of the host: what /proc says becomes rates and levels; they live as long as the window, and no longer."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from capture_helpers import load, names, record
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.host import facts, sources
from annotate.host.nvml import Nvml
from annotate.host.sampler import HostSampler, Sample, take
from annotate.host.sources import host_sources
from annotate.options import CaptureOptions
from annotate.trace_format import COUNTERS


class Numbers(Dataset[int]):
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        threading.Event().wait(0.01)
        return index


OTHER = os.getpid() + 1
"""Number of a process that is not this one, whichever number this one was given."""


def machine(root: Path, busy: int, read: int, throttled: str = "throttled_usec") -> None:
    """A machine with two cores, on which each figure has grown by so much."""
    files = {
        "proc/stat": f"cpu  0 0 0 0 0 0 0 0 0 0\n{core_line(0, busy)}{core_line(1, 0)}{core_line(99, busy)}intr 5\n",
        "proc/meminfo": "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n",
        "proc/diskstats": "".join(
            f"8 0 {disk} 1 0 {read} 0 0 0 0 0 0 {read // 4} 0\n" for disk in ("sda", "sda1", "loop0")
        ),
        "proc/net/dev": f"Inter-|\n face |\n    lo: {read} 0 0 0 0 0 0 0 9\n  eth0:{read} 0 0 0 0 0 0 0 {2 * read} 0\n",
        f"proc/{os.getpid()}/io": f"rchar: {read}\nwchar: 5\nsyscr: 1\nsyscw: 1\nread_bytes: {read // 2}\n",
        f"proc/{os.getpid()}/statm": f"900 {read} 5 1 0 9 0\n",
        f"proc/{OTHER}/statm": f"900 {2 * read} 5 1 0 9 0\n",
        "sys/fs/cgroup/cpu.stat": f"nr_periods 3\n{throttled} {read}\n",
        "sys/block/sda/size": "1",
        "sys/block/loop0/size": "1",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def core_line(core: int, busy: int) -> str:
    return f"cpu{core} {busy} 0 0 {100 - busy if busy else 1000} 0 0 0 0 0 0\n"


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(sources, "cgroup_folders", lambda root: [root])


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize(("throttled", "us"), [("throttled_usec", 2000.0), ("throttled_time", 2.0)])
def test_every_counter_tells_what_the_machine_does(tmp_path: Path, throttled: str, us: float) -> None:
    machine(tmp_path, 0, 0, throttled)
    sources = host_sources(lambda: [os.getpid(), OTHER, 999_999_999], tmp_path)
    machine(tmp_path, 25, 1000, throttled)
    (tmp_path / "proc/stat").write_text(
        f"cpu 0\n{core_line(0, 0)[:-1]}0\ncpu0 25 0 0 1075 0 0 0 0\ncpu1 0 0 0 1000 0\n"
    )
    samples: list[Sample] = []
    take(sources, samples, 0, 500_000_000)
    page = os.sysconf("SC_PAGE_SIZE")
    assert {sample.counter: sample.values for sample in samples} == {
        "host::cpu": {"core 0": 25.0},
        "host::throttled": {"us_per_s": us},
        "host::memory": {"used_bytes": 600 * 1024, "available_bytes": 400 * 1024},
        "host::processes": {"training_process_bytes": 1000 * page, "workers_bytes": 2000 * page},
        "host::disk": {"read_bytes_per_s": 2 * 1000 * 512},
        "host::disk_busy": {"sda": 50.0},
        "host::network": {"received_bytes_per_s": 2000, "sent_bytes_per_s": 4000},
        "host::reads": {"rchar_per_s": 2000, "read_bytes_per_s": 1000},
    }
    assert {sample.counter: sample.time for sample in samples if sample.time} == {
        "host::memory": 500_000_000,
        "host::processes": 500_000_000,
    }


@pytest.mark.usefixtures("two_cores")
def test_a_source_that_fails_gives_nothing_any_more(tmp_path: Path) -> None:
    machine(tmp_path, 0, 0)
    sources = host_sources(lambda: [os.getpid()], tmp_path)
    (tmp_path / "proc/meminfo").write_text("nothing of that kind\n")
    take(sources, [], 0, 500_000_000)
    assert "host::memory" not in [source.counter for source in sources]
    assert len(sources) == 7
    assert host_sources(list, tmp_path / "nowhere")[:-1] == []


def test_the_groups_of_both_cgroup_versions_are_found(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/a/b\n2:cpu,cpuacct:/c\n1:memory:/d\n")
    folders = [str(path.relative_to(tmp_path)) for path in facts.cgroup_folders(tmp_path, own)]
    assert folders == [".", "cpu", "a/b", "a", "cpu,cpuacct/c", "cpu,cpuacct", "cpu/c"]


def counters(path: str) -> list[dict[str, Any]]:
    return [event for event in load(path)["traceEvents"] if event["ph"] == "C"]


def sampling() -> bool:
    return any(thread.name == "annotate: host samples" for thread in threading.enumerate())


def capture(folder: Path, **keywords: Any) -> str:
    with annotate.profile(folder, wait=2, warmup=1, active=5, **keywords) as prof:
        for number, _ in enumerate(prof.steps(DataLoader(Numbers(), batch_size=2, num_workers=1))):
            assert sampling() == (bool(keywords.get("host_sample_ms", 100)) and 3 <= number < 8)
    return prof.trace_files[0]


def test_samples_stand_in_the_window_of_the_trace(tmp_path: Path) -> None:
    path = capture(tmp_path, host_sample_ms=20)
    assert not sampling()
    events = counters(path)
    here = {event["name"] for event in events}
    assert {"host::cpu", "host::memory", "host::reads"} <= here <= set(COUNTERS)
    steps = [e for e in load(path)["traceEvents"] if e["ph"] == "X" and e["name"].startswith("ProfilerStep#")]
    begin, end = min(step["ts"] for step in steps), max(step["ts"] + step["dur"] for step in steps)
    times = sorted({event["ts"] for event in events if event["name"] == "host::memory"})
    assert begin - 1e6 <= times[0], "the window opens right before its first step"
    assert times[-1] <= end + 1e6, "the last one is taken as the window closes, right after its last step"
    assert len(times) >= 3


def test_none_are_taken_when_switched_off_or_on_another_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert counters(capture(tmp_path / "off", host_sample_ms=0)) == []
    monkeypatch.setattr(sys, "platform", "darwin")
    samples = HostSampler(10, list)
    samples.start()
    assert not sampling()
    samples.stop()
    assert samples.samples == []


def test_an_exception_in_the_loop_ends_the_sampling(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), annotate.profile(tmp_path, wait=0, warmup=1, active=9) as prof:
        for number, _ in enumerate(prof.steps(DataLoader(Numbers(), batch_size=2))):
            if number == 3:
                assert sampling()
                raise KeyboardInterrupt
    assert not sampling()
    assert counters(prof.trace_files[0])


@pytest.mark.parametrize("interval", [-1, 0.5, True])
def test_an_interval_that_is_none_is_refused(interval: Any, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match="host_sample_ms"):
        CaptureOptions(logdir=tmp_path, host_sample_ms=interval)


class FakeNvml:
    """Two devices; the second does not tell."""

    closed = False

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*args: Any) -> int:
            return int(name.endswith("UUID"))

        return call

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.closed = True

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, number: ctypes.c_uint, device: Any) -> int:  # noqa: N802
        device._obj.value = 100 + number.value
        return int(number.value > 1)

    def nvmlDeviceGetUtilizationRates(self, device: ctypes.c_void_p, rates: Any) -> int:  # noqa: N802
        rates._obj.gpu = device.value
        return 0

    def nvmlDeviceGetMemoryInfo(self, device: ctypes.c_void_p, memory: Any) -> int:  # noqa: N802
        memory._obj.used = 7
        return 0


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, {"device 0": 100.0, "device 1": 101.0}),
        ("1", {"device 0": 101.0}),
        ("1, 0", {"device 0": 101.0, "device 1": 100.0}),
        ("0,7,1", {"device 0": 100.0}),
    ],
)
def test_devices_are_numbered_as_the_program_sees_them(
    visible: str | None, found: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    nvml = Nvml(FakeNvml())
    assert nvml.utilisation() == found
    assert nvml.memory() == dict.fromkeys(found, 7.0)


@pytest.mark.parametrize("visible", ["", "GPU-1234", "-1"])
def test_without_a_device_nvml_is_let_go(visible: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    library = FakeNvml()
    with pytest.raises(OSError, match="no device"):
        Nvml(library)
    assert library.closed
    assert "torch" in sys.modules


def test_what_our_own_threads_read_is_not_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loading, read = threading.Event(), threading.Event()
    (tmp_path / "load").write_text("0.5")

    class Waiting(Numbers):
        """Its sample is being loaded until a thread of ours has read a file, as it does in /proc."""

        def __getitem__(self, index: int) -> int:
            loading.set()
            return index if read.wait(20) else -1

    def sample_host(*args: object) -> None:
        if loading.wait(20) and (tmp_path / "load").read_text() == "0.5":
            read.set()

    monkeypatch.setattr(HostSampler, "_sample", sample_host)
    dataset = annotate.dataset(Waiting())
    assert names(record(tmp_path / "run", lambda: dataset[0])) == {"sample::Waiting": 1}
    assert read.is_set()
