"""Spans of DataLoader workers, spans of the training thread and kernels: are they on one clock?

Each of them has user's clocks that bound it, inside of a span or around a kernel. So each gives bounds of the offset
between perf_counter and the trace's time; where two such pairs of bounds lie apart, the clocks differ by that.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from benchmarks.on_device_checks.captures import newest
from benchmarks.on_device_checks.rows import Row, between, not_possible, same
from benchmarks.on_device_checks.setting import Setting
from benchmarks.on_device_checks.truth import mark

ALLOWED_US: Final = 50.0
KERNELS: Final = 5
BATCH: Final = 4
WAIT, WARM_UP = 1, 2
TICK: Final = "user::tick"
WORKER_TICK: Final = "decode::tick"


class Ticks(Dataset[torch.Tensor]):
    """A sample is its index, and the clock inside of its span: perf_counter, microseconds."""

    def __init__(self, batches: int) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return self.batches * BATCH

    def __getitem__(self, index: int) -> torch.Tensor:
        with annotate.stage("decode", "tick"):
            begin = _now()
            time.sleep(0.001)
            end = _now()
        return torch.tensor([float(index), begin, end], dtype=torch.float64)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of an offset, microseconds: at least `low`, at most `high`. `high` below `low`: no one offset fits."""

    low: float
    high: float
    count: int

    def apart(self, other: Bounds) -> float:
        """By how much the two offsets differ at least."""
        return max(0.0, self.low - other.high, other.low - self.high)

    def most(self, other: Bounds) -> float:
        """By how much the two offsets differ at most."""
        return max(self.high - other.low, other.high - self.low)


@dataclass(frozen=True, slots=True)
class Noted:
    """The user's clocks, microseconds: in the workers' spans by dataset index, in the training thread's, around
    kernels; and the milliseconds from the first kernel to the last one, at least and at most, by CUDA events.
    """

    workers: Mapping[int, tuple[float, float]]
    ticks: list[tuple[float, float]]
    kernels: list[tuple[float, float]]
    elapsed_ms: tuple[float, float]


def run(setting: Setting, part: str) -> Iterator[Row]:
    on_device = part == "device"
    folder = setting.work / f"clocks-{part}"
    noted = _observe(setting, folder, on_device)
    events = _events(newest(folder))
    workers = _inside(events, WORKER_TICK, noted)
    ticks = _inside(events, TICK, noted)
    if workers is None or ticks is None:
        yield same(f"clocks, {part}: spans in the capture", "yes", "no", "spans of workers or of the loop are missing")
        return
    if not on_device:
        yield _agree("clocks: workers and training thread", workers, ticks)
        return
    kernels = sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: float(event["ts"]))
    if len(kernels) != len(noted.kernels):
        reason = f"{len(kernels)} kernels are in the capture, {len(noted.kernels)} were launched"
        yield same("clocks, device: kernels in the capture", len(noted.kernels), len(kernels), reason)
        return
    bounds = _around(kernels, noted.kernels)
    yield _agree("clocks: workers and device", workers, bounds)
    yield _agree("clocks: training thread and device", ticks, bounds)
    elapsed = (float(kernels[-1]["ts"]) - float(kernels[0]["ts"])) / 1e3
    floor = ALLOWED_US / 1e3
    yield between("clocks: first to last kernel, CUDA events", *noted.elapsed_ms, elapsed, "ms", 0.0, floor)
    yield same("clocks: kernels before their launch", 0, _early(events, kernels))


def _now() -> float:
    return time.perf_counter_ns() / 1e3


def _observe(setting: Setting, folder: Path, on_device: bool) -> Noted:
    count = WAIT + WARM_UP + setting.active
    dataset = annotate.dataset(Ticks(count))
    loader = annotate.loader(DataLoader(dataset, BATCH, num_workers=1, multiprocessing_context="fork"))
    work = torch.ones(1 << 10, device="cuda") if on_device else None
    workers: dict[int, tuple[float, float]] = {}
    ticks, kernels = list[tuple[float, float]](), list[tuple[float, float]]()
    marks = list[tuple[torch.cuda.Event, torch.cuda.Event]]()
    with annotate.profile(folder, wait=WAIT, warmup=WARM_UP, active=setting.active) as prof:
        for number, batch in enumerate(prof.steps(loader)):
            workers.update({int(index): (begin, end) for index, begin, end in batch.tolist()})
            noted, brackets = _tick(), _launch(work, marks if number >= WAIT + WARM_UP else [])
            if number >= WAIT + WARM_UP:
                ticks += noted
                kernels += brackets
    return Noted(workers, ticks, kernels, _elapsed_ms(marks))


def _elapsed_ms(marks: list[tuple[torch.cuda.Event, torch.cuda.Event]]) -> tuple[float, float]:
    """From the first kernel to the last one: a kernel begins between its two events, some 100 us apart."""
    if not marks:
        return 0.0, 0.0
    (first, begun), (last, ended) = marks[0], marks[-1]
    return float(begun.elapsed_time(last)), float(first.elapsed_time(ended))


def _tick() -> list[tuple[float, float]]:
    noted = []
    for _ in range(KERNELS):
        with annotate.stage("user", "tick"):
            noted.append((_now(), _now()))
    return noted


def _launch(
    work: torch.Tensor | None, marks: list[tuple[torch.cuda.Event, torch.cuda.Event]]
) -> list[tuple[float, float]]:
    """One small kernel at a time on an idle device, each with clocks around it, and events around these."""
    if work is None:
        return []
    found = []
    for _ in range(KERNELS):
        torch.cuda.synchronize()
        before = mark()
        torch.cuda.synchronize()
        begin = _now()
        work.mul_(1.0001)
        torch.cuda.synchronize()
        found.append((begin, _now()))
        marks.append((before, mark()))
    return found


def _events(path: Path) -> list[dict[str, Any]]:
    trace = json.loads(gzip.decompress(path.read_bytes()))
    return [event for event in trace["traceEvents"] if event.get("ph") == "X"]


def _inside(events: list[dict[str, Any]], name: str, noted: Noted) -> Bounds | None:
    """By clocks that were read inside of spans."""
    spans = sorted((event for event in events if event.get("name") == name), key=lambda event: float(event["ts"]))
    if name == TICK:
        pairs = list(zip(spans, noted.ticks, strict=True)) if len(spans) == len(noted.ticks) else []
    else:
        clocks = [(span, noted.workers.get(int(span.get("args", {}).get("index", -1)))) for span in spans]
        pairs = [(span, clock) for span, clock in clocks if clock is not None]
    if not pairs:
        return None
    low = max(float(span["ts"]) - begin for span, (begin, _) in pairs)
    high = min(float(span["ts"]) + float(span["dur"]) - end for span, (_, end) in pairs)
    return Bounds(low, high, len(pairs))


def _around(kernels: list[dict[str, Any]], clocks: list[tuple[float, float]]) -> Bounds:
    """By clocks that were read before the launch and after the device had finished."""
    pairs = list(zip(kernels, clocks, strict=True))
    low = max(float(kernel["ts"]) + float(kernel["dur"]) - end for kernel, (_, end) in pairs)
    high = min(float(kernel["ts"]) - begin for kernel, (begin, _) in pairs)
    return Bounds(low, high, len(pairs))


def _agree(name: str, left: Bounds, right: Bounds) -> Row:
    apart, most = left.apart(right), left.most(right)
    detail = f"{apart:.1f} to {max(apart, most):.1f} us, by {left.count} and {right.count} spans"
    bound = f"at most {ALLOWED_US:.0f}"
    if apart > ALLOWED_US:
        return Row(name, bound, apart, "us", detail, "off", f"apart by more than {ALLOWED_US:.0f} us")
    if most > 2 * ALLOWED_US:
        return not_possible(name, f"the clocks bound the difference to {detail}: too wide")
    return Row(name, bound, apart, "us", detail, "ok")


def _early(events: list[dict[str, Any]], kernels: list[dict[str, Any]]) -> int:
    """Kernels that the capture has before the call that launched them; without one they do not count."""
    calls = {
        event.get("args", {}).get("correlation"): float(event["ts"])
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "aunch" in str(event.get("name"))
    }
    launched = [(float(kernel["ts"]), calls.get(kernel.get("args", {}).get("correlation"))) for kernel in kernels]
    return sum(1 for start, call in launched if call is not None and start < call)
