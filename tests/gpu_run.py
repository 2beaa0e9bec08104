"""A built capture of training on a device whose DataLoader workers fall behind together: the picture of a sawtooth.

Every batch takes a DataLoader worker longer than its share of the steps, and all of them begin together, so the
training thread waits at every `workers`-th step. It has what the page can show of such a run: launches, stages with CPU
time and bytes, costs of the batches, counters of the host.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.trace_builder import TraceBuilder

SAMPLES = 3
"""Samples of a batch; their dataset indices are `SAMPLES * batch`, and so on."""
PREFETCH = 2
SAMPLE_US = 55_000.0
COLLATE_US = 4_000.0
KERNELS = 12
KERNEL_US = 2_300.0
LEAD_IN_US = 180_000.0
"""The DataLoader workers begin so long before the first step."""


@dataclass(frozen=True, slots=True)
class Made:
    """One batch: when its indices were handed out, when its worker began it and had it ready."""

    drawn: float
    started: float
    finished: float


class _Workers:
    """Hands out and makes batches as a DataLoader does: in turn, `PREFETCH` per worker ahead."""

    def __init__(self, builder: TraceBuilder, workers: int, seed: int) -> None:
        self.builder, self.workers = builder, workers
        self.random = random.Random(seed)
        self.free = [0.0] * workers
        self.made: list[Made] = []
        for _ in range(workers * PREFETCH):
            self.draw(0.0)

    def draw(self, at: float) -> None:
        number = len(self.made)
        worker = number % self.workers
        started = max(at, self.free[worker]) + 50.0
        finished = self._make(number, worker, started)
        self.free[worker] = finished
        self.made.append(Made(at, started, finished))

    def _make(self, number: int, worker: int, started: float) -> float:
        at = started + 20.0
        for sample in range(SAMPLES):
            at = self._sample(SAMPLES * number + sample, number, worker, at)
        self._span("collate::default_collate", at, COLLATE_US, number, worker, -1, COLLATE_US * 0.97, 3_145_728)
        return at + COLLATE_US + 30.0

    def _sample(self, index: int, batch: int, worker: int, at: float) -> float:
        whole = SAMPLE_US * self.random.uniform(0.96, 1.04)
        parts = (
            ("read::open", 0.12, 0.2, 611_000), ("decode::PIL.Image", 0.58, 0.98, 1_279_200),
            ("transform::RandomCrop", 0.06, 0.97, 196_608), ("transform::RandomMask", 0.2, 0.99, 786_432),
        )  # fmt: skip
        self._span("sample::Photos", at, whole, batch, worker, index, whole * 0.88, None)
        start = at + whole * 0.01
        for name, share, running, size in parts:
            duration = whole * share
            self._span(name, start, duration, batch, worker, index, duration * running, size)
            start += duration + whole * 0.005
        return at + whole + 10.0

    def _span(
        self, name: str, ts: float, dur: float, batch: int, worker: int, index: int, cpu: float, size: int | None
    ) -> None:
        pid = 100 + worker
        told = {} if size is None else {"bytes": size}
        args = {"batch": batch, "index": index, "epoch": 0, "worker": worker, "cpu_us": cpu, **told}
        self.builder.add("user_annotation", name, ts, dur, pid=pid, tid=pid, **args)


def sawtooth_run(steps: int = 24, workers: int = 4, seed: int = 1) -> TraceBuilder:
    """`steps` steps of about 30 ms of device work; a batch takes a DataLoader worker 170 ms."""
    builder = TraceBuilder(deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]).annotated(
        loaders=[{"batch_size": SAMPLES, "num_workers": workers, "prefetch_factor": PREFETCH, "dataset": "Photos",
                  "persistent_workers": True, "pin_memory": False, "in_order": True, "start_method": "fork"}],
        host={"cpu_count": workers, "cpu_quota": None},
    )  # fmt: skip
    for worker in range(workers):
        builder.worker(worker)
    making = _Workers(builder, workers, seed)
    at, consumed = LEAD_IN_US, []
    for number in range(steps):
        begun = at
        received = max(at + 150.0, making.made[number].finished + 400.0)
        builder.wait(at + 10.0, received - at + 30.0, "wait::DataLoader")
        consumed.append(received)
        making.draw(received)
        at = _train(builder, number, received + 100.0)
        builder.step(begun, at - begun)
    for number, made in enumerate(making.made):
        taken = consumed[number] if number < steps else None
        wall = made.finished - made.started
        builder.batch(
            number, number % workers, made.drawn, made.started, made.finished, taken, cpu_us=wall * 0.86,
            run_delay_us=wall * 0.03, process_cpu_us=wall * 0.91, voluntary_switches=41, involuntary_switches=9,
            read_bytes=204_800, read_chars=1_925_000, major_faults=0,
        )  # fmt: skip
    for name, ts, series in _counters(at, workers):
        builder.counter(name, ts, **series)
    return builder


def _train(builder: TraceBuilder, number: int, at: float) -> float:
    """Copy, kernels that are launched faster than they run, a synchronising read of the loss, logging."""
    first = 100 * number
    builder.call("cudaMemcpyAsync", at, 900.0, correlation=first).memcpy(at + 100.0, 780.0, correlation=first)
    at += 1_000.0
    device = at
    for kernel in range(1, KERNELS + 1):
        builder.operator(at, 190.0).call("cudaLaunchKernel", at + 120.0, 20.0, correlation=first + kernel)
        device = max(device, at + 150.0)
        builder.kernel(device, KERNEL_US, correlation=first + kernel, name="gemm" if kernel % 3 else "elementwise")
        device += KERNEL_US + (2.0 if kernel % 4 else 160.0)
        at += 230.0
    builder.call("cudaStreamSynchronize", at, device - at, correlation=first + 90)
    return device + 700.0


def _counters(end: float, cores: int) -> Iterator[tuple[str, float, dict[str, float]]]:
    values = random.Random(3)
    at = LEAD_IN_US
    while at < end:
        yield "host::cpu", at, {f"core {core}": values.uniform(88, 99) for core in range(cores)}
        yield "host::memory", at, {"used_bytes": 11.2e9 + values.uniform(0, 4e8)}
        yield "device::utilisation", at, {"gpu": values.uniform(30, 70)}
        at += 50_000.0
