"""Captures of DataLoader workers that need different times for a batch, or have different numbers of batches."""

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


def unequal_parts(
    counts: Sequence[int] = (8, 2, 1), epochs: int = 4, build: float = 30_000.0, train: float = 8_000.0
) -> TraceBuilder:
    """An iterable dataset, of which each worker has so many batches in each epoch; in order, two ahead per worker. A
    worker at its end is passed over. The last epoch is cut off after its first batch.
    """
    settings = {"num_workers": len(counts), "batch_size": 4, "prefetch_factor": 2, "iterable": True, "divided": True}
    builder = TraceBuilder().annotated(loaders=[{**settings, "persistent_workers": True}], host={"cores": 8})
    for worker in range(len(counts)):
        builder.worker(worker)
    now = 0.0
    for epoch in range(epochs):
        builder.epoch = epoch
        now = _epoch(builder, counts, now, build, train, 1 if epoch == epochs - 1 else sum(counts))
    return builder


def last_part(
    counts: Sequence[int] = (40, 0),
    build: float = 30_000.0,
    train: float = 8_000.0,
    *,
    ended: bool = False,
    in_order: bool = True,
) -> TraceBuilder:
    """The end of an epoch: workers that have no batch are at the end of their part, and their processes had ended
    before the window. `ended`: these have records.
    """
    settings = {"num_workers": len(counts), "batch_size": 4, "prefetch_factor": 2, "iterable": True, "divided": True}
    builder = TraceBuilder().annotated(loaders=[{**settings, "in_order": in_order}], host={"cores": 8})
    for worker, count in enumerate(counts):
        if count or ended:
            builder.worker(worker, started=-9000, ended=None if count else -1000)
    _epoch(builder, counts, 0.0, build, train, sum(counts))
    return builder


def whole_epoch_ms(counts: Sequence[int], build: float = 30_000.0, train: float = 8_000.0) -> float:
    """A step of that loop, on average over an epoch, its start included."""
    return _epoch(unequal_parts(counts, 1), counts, 0.0, build, train, sum(counts)) / sum(counts) / 1e3


def _epoch(builder: TraceBuilder, counts: Sequence[int], now: float, build: float, train: float, most: int) -> float:
    """When it is over."""
    rounds = range(max(counts))
    turns = [worker for turn in rounds for worker, count in enumerate(counts) if turn < count]
    free, start = [now] * len(counts), now
    taken: list[float] = []
    for number, worker in enumerate(turns[:most]):
        ahead = number - 2 * len(counts)
        drawn = start + 1 if ahead < 0 else taken[ahead]
        begin = max(free[worker], drawn)
        free[worker] = end = begin + build
        consumed = max(now, end) + 20
        taken.append(consumed)
        builder.batch(number, worker, drawn, begin, end, consumed - 5)
        facts = {"batch": number, "epoch": builder.epoch, "worker": worker, "cpu_us": 1.0}
        pid = 100 + worker
        for sample in range(4):
            at = round(begin + sample * build / 4, 3)
            builder.add("user_annotation", "sample::Shards", at, build / 4, pid=pid, tid=pid, **facts)
        builder.step(now, consumed + train - now).wait(now, consumed - now, "wait::DataLoader")
        now = consumed + train
    return now
