"""A device of one stream that is none: has the checks for a device run on any machine, with their captures and reports.

    python -m tests.benchmarks.simulated_device MODULE:PART...

Kernels and copies take time on a clock of their own, events and synchronisation follow it, and what it did is written
into each capture as the profiler of a real device would write it. Changes torch for the whole process. Prints rows as
JSON.
"""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from benchmarks.on_device_checks import captures
from benchmarks.on_device_checks.network import Trainer
from benchmarks.on_device_checks.setting import Setting

LATENCY_S = 5e-6
BYTES_PER_S = {"Pinned": 50e9, "Pageable": 8e9}
now = time.perf_counter


def is_pinned(tensor: torch.Tensor) -> bool:
    return getattr(tensor, "in_pinned_memory", False)


@dataclass
class Device:
    """`free`: when it has done all that was launched. `rows`: category, name, start, seconds, correlation, thread (0: a
    row of the device), bytes.
    """

    free: float = 0.0
    rows: list[tuple[str, str, float, float, int, int, int]] = field(default_factory=list)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def activity(self, category: str, name: str, seconds: float, size: int = 0) -> int:
        """Queue it; its correlation."""
        number: int = next(self.numbers)
        start = max(now() + LATENCY_S, self.free)
        self.free = start + seconds
        self.rows.append((category, name, start, seconds, number, 0, size))
        return number

    def call(self, name: str, begin: float, number: int = 0) -> None:
        """A runtime call of this thread that ends now; one that launches nothing has a number of its own."""
        chosen = number or next(self.numbers)
        self.rows.append(("cuda_runtime", name, begin, now() - begin, chosen, threading.get_native_id(), 0))

    def launch(self, seconds: float, name: str) -> None:
        begin = now()
        self.call("cudaLaunchKernel", begin, self.activity("kernel", name, seconds))

    def copy(self, source: torch.Tensor, non_blocking: bool) -> None:
        begin, memory = now(), "Pinned" if is_pinned(source) else "Pageable"
        seconds = source.nbytes / BYTES_PER_S[memory]
        number = self.activity("gpu_memcpy", f"Memcpy HtoD ({memory} -> Device)", seconds, source.nbytes)
        if memory == "Pageable":
            self.wait(self.free)
        self.call("cudaMemcpyAsync", begin, number)
        if not non_blocking:
            self.synchronize()

    def item(self) -> float:
        begin = now()
        self.call("cudaMemcpyAsync", begin, self.activity("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 2e-6, 4))
        self.synchronize()
        return 0.0

    def synchronize(self) -> None:
        begin = now()
        self.wait(self.free)
        self.call("cudaStreamSynchronize", begin)

    def wait(self, moment: float) -> None:
        while now() < moment:
            time.sleep(max(0.0, moment - now() - 1e-3))


DEVICE = Device()


class Event:
    """`torch.cuda.Event`."""

    def __init__(self, **options: object) -> None:
        self.moment = 0.0

    def record(self) -> None:
        begin = now()
        self.moment = max(begin, DEVICE.free)
        DEVICE.call("cudaEventRecord", begin)

    def synchronize(self) -> None:
        DEVICE.wait(self.moment)

    def elapsed_time(self, other: Event) -> float:
        return (other.moment - self.moment) * 1e3


class OnDevice(TorchFunctionMode):
    """What is asked of "cuda" happens on the CPU, and takes its time on the device."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = dict(kwargs or {})
        if str(options.get("device")) == "cuda":
            options["device"] = "cpu"
        name = getattr(function, "__name__", "")
        if name == "to" and args[1:2] == ("cuda",):
            DEVICE.copy(args[0], options.get("non_blocking", False))
        elif name == "copy_" and "non_blocking" in options:
            DEVICE.copy(args[1], options["non_blocking"])
        elif name == "mul_":
            DEVICE.launch(3e-6, "elementwise")
        elif name == "pin_memory":
            pinned: Any = args[0].clone()
            pinned.in_pinned_memory = True
            return pinned
        elif name == "is_pinned":
            return is_pinned(args[0])
        else:
            return function(*args, **options)
        return args[0]


class Loss:
    def item(self) -> float:
        return DEVICE.item()


def step(trainer: Trainer, images: torch.Tensor) -> Loss:
    for _ in range(40):
        DEVICE.launch(5e-5, "convolution")
    return Loss()


def gate(trainer: Trainer) -> None:
    for _ in range(trainer.gate_kernels):
        DEVICE.launch(3e-4, "gemm")


def with_device(path: Path) -> Path:
    """The capture, with what the device did in it."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    events = trace["traceEvents"]
    steps = [event for event in events if str(event.get("name", "")).startswith("ProfilerStep#")]
    begin, end = min(one["ts"] for one in steps), max(one["ts"] + one["dur"] for one in steps)
    epoch_ns = time.time_ns() - time.perf_counter_ns() - trace.get("baseTimeNanoseconds", 0)
    for category, name, start, seconds, number, thread, size in DEVICE.rows:
        ts = (start * 1e9 + epoch_ns) / 1e3
        if begin <= ts <= end:
            args = {"correlation": number, **({"bytes": size} if size else {})}
            place = {"pid": steps[0]["pid"], "tid": thread} if thread else {"pid": 0, "tid": 7}
            args |= {} if thread else {"device": 0, "stream": 7}
            events.append(
                {"ph": "X", "cat": category, "name": name, **place, "ts": ts, "dur": seconds * 1e6, "args": args}
            )
    path.write_bytes(gzip.compress(json.dumps(trace).encode(), 1))
    return path


def install() -> None:
    changes: list[tuple[Any, str, Any]] = [
        (torch.cuda, "Event", Event),
        (torch.cuda, "synchronize", DEVICE.synchronize),
        (torch.nn.Module, "to", lambda module, *args: module),
        (Trainer, "step", step),
        (Trainer, "gate", gate),
    ]
    newest = captures.newest
    changes.append((captures, "newest", lambda folder: with_device(newest(folder))))
    for owner, name, value in changes:
        setattr(owner, name, value)


def main(*parts: str) -> None:
    install()
    with tempfile.TemporaryDirectory() as folder, OnDevice():
        work = Path(folder)
        setting = Setting(work=work, captures=work, device="cuda", quick=True, seconds=30)
        for module, _, part in (name.partition(":") for name in parts):
            check = importlib.import_module(f"benchmarks.on_device_checks.{module}")
            for row in check.run(setting, part):
                print(json.dumps(row.to_dict()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
