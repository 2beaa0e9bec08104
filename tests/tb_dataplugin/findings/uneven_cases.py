"""Captures of DataLoader workers that need different times for a batch."""

from __future__ import annotations

from collections.abc import Sequence

from tests.trace_builder import TraceBuilder

QUICK, SLOW, TRAIN = 600.0, 34_000.0, 9_500.0
"""Microseconds."""


def in_turns(
    builds: Sequence[float], rounds: int = 12, read: float = 0.0, train: float = TRAIN, **loader: object
) -> TraceBuilder:
    """A batch of eight samples per step; each worker needs as long for each of its own, the part `read` for reading."""
    count = len(builds)
    settings = {"num_workers": count, "batch_size": 8, "prefetch_factor": 2, "iterable": True, **loader}
    builder = TraceBuilder().annotated(loaders=[settings], host={"cores": 8})
    for worker in range(count):
        builder.worker(worker)
    free, taken, now = [0.0] * count, [0.0] * (count * rounds), 0.0
    for number in range(count * rounds):
        worker = number % count
        drawn = taken[number - 2 * count] if number >= 2 * count else 0.0
        begin = max(free[worker], drawn)
        free[worker] = end = begin + builds[worker]
        taken[number] = consumed = max(now, end) + 20
        builder.batch(number, worker, drawn, begin, end, consumed - 5)
        facts = {"batch": number, "epoch": 0, "worker": worker}
        for sample in range(8):
            start, took = begin + sample * builds[worker] / 8, builds[worker] / 8
            for name, part in (("sample::Shards", 1.0), ("read::file", read)) if read else (("sample::Shards", 1.0),):
                builder.add(
                    "user_annotation", name, round(start, 3), round(part * took, 3), pid=100 + worker, tid=100 + worker,
                    cpu_us=1.0, **facts,
                )  # fmt: skip
        builder.step(now, consumed + train - now).wait(now, consumed - now, "wait::DataLoader")
        now = consumed + train
    return builder
