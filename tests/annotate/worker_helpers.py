"""Datasets that keep their own books in the worker, and the checks that hold for every trace with workers."""

from __future__ import annotations

import os
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from capture_helpers import load, record_all
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info

import annotate
from annotate.trace_format import MARKER_CATEGORY, parse_span_name

SIZE = 24
BATCH = 3
BUSY_NS = 1_000_000


class Busy:
    """A transform that works for about a millisecond."""

    def __call__(self, row: list[int]) -> list[int]:
        begin = time.perf_counter_ns()
        while time.perf_counter_ns() - begin < BUSY_NS:
            pass
        return row


class Books(Dataset[list[int]]):
    """Items are (index, pid, nanoseconds in the item, in reading, in the transform)."""

    slow = 0.004
    """Seconds that every fourth index reads; the others a quarter of it."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.transform = Busy()

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> list[int]:
        begin = time.perf_counter_ns()
        assert type(index) is int
        row = [index, os.getpid(), 0, 0, 0]
        with annotate.stage("read", "sleep"):
            read = time.perf_counter_ns()
            time.sleep(self.slow if index % 4 == 0 else self.slow / 4)
            row[3] = time.perf_counter_ns() - read
        work = time.perf_counter_ns()
        row = self.transform(row)
        row[4] = time.perf_counter_ns() - work
        row[2] = time.perf_counter_ns() - begin
        return row


class BatchedBooks(Books):
    def __getitems__(self, indices: list[int]) -> list[list[int]]:
        assert type(indices) is list
        return [self[index] for index in indices]


class StreamedBooks(IterableDataset[list[int]]):
    """Sharded; worker 1's part is the shorter one."""

    def __init__(self, size: int = SIZE) -> None:
        self.books = Books(size)
        self.transform = self.books.transform

    def __iter__(self) -> Iterator[list[int]]:
        info = get_worker_info()
        assert info is not None
        size = self.books.size if info.id == 0 else self.books.size // 2
        for index in range(info.id, size, info.num_workers):
            yield self.books[index]


def as_tensor(rows: list[list[int]]) -> torch.Tensor:
    return torch.tensor(rows)


KINDS = ("map", "getitems", "iterable", "subset")


def make_dataset(kind: str) -> Any:
    if kind == "map":
        return Books()
    if kind == "getitems":
        return BatchedBooks()
    if kind == "iterable":
        return StreamedBooks()
    return Subset(Subset(Books(), range(SIZE)), list(range(SIZE - 1, -1, -1)))


class Seen(NamedTuple):
    """A batch as the training loop got it."""

    epoch: int
    rows: list[list[int]]

    @property
    def indices(self) -> list[int]:
        return [row[0] for row in self.rows]

    @property
    def pid(self) -> int:
        (pid,) = {row[1] for row in self.rows}
        return pid


def run(folder: Path, loader: DataLoader[Any], epochs: int = 1, **keywords: Any) -> tuple[dict[str, Any], list[Seen]]:
    """Record whole epochs of plain loops."""
    seen = []
    keywords.setdefault("schedule", record_all)
    with annotate.profile(folder, **keywords) as prof:
        for epoch in range(epochs):
            for batch in loader:
                seen.append(Seen(epoch, batch.tolist()))
                prof.step()
    return load(prof.trace_files[-1]), seen


def batches_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    columns = trace["dataPipeline"]["batches"]
    assert len({len(column) for column in columns.values()}) == 1
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def consumed(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """The batches that were handed out, in that order."""
    done = [batch for batch in batches_of(trace) if batch["consumed_us"] is not None]
    return sorted(done, key=lambda batch: batch["consumed_us"])


def nanoseconds(event: dict[str, Any]) -> tuple[int, int]:
    start = round(event["ts"] * 1000)
    return start, start + round(event.get("dur", 0) * 1000)


def worker_spans(trace: dict[str, Any]) -> dict[int, list[dict[str, Any]]]:
    """By pid, in the order of the file."""
    pids = {worker["pid"] for worker in trace["dataPipeline"]["workers"]}
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["pid"] in pids:
            assert event["cat"] == MARKER_CATEGORY
            assert parse_span_name(event["name"]) is not None
            assert event["tid"] == event["pid"]
            rows[event["pid"]].append(event)
    return rows


def check(trace: dict[str, Any]) -> None:
    """What holds for every trace."""
    assert trace["dataPipeline"]["notes"] == []
    assert trace["dataPipeline"]["dropped_spans"] == 0
    check_order(trace)
    check_nesting(trace)
    check_arrows(trace)


def check_order(trace: dict[str, Any]) -> None:
    times = ("drawn_us", "started_us", "finished_us", "arrived_us", "consumed_us")
    for batch in batches_of(trace):
        known = [batch[key] for key in times if batch[key] is not None]
        assert known == sorted(known), batch


def check_nesting(trace: dict[str, Any]) -> None:
    for spans in worker_spans(trace).values():
        open_until: list[int] = []
        before = 0
        for span in spans:
            start, end = nanoseconds(span)
            assert start >= before, "not in order of time"
            before = start
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], f"{span} is badly nested"
            open_until.append(end)


def check_arrows(trace: dict[str, Any]) -> None:
    """Each begins in a worker's span and ends in a wait, bound to it."""
    arrows = [event for event in trace["traceEvents"] if event.get("cat") == "batch"]
    begins = {event["id"]: event for event in arrows if event["ph"] == "s"}
    ends = {event["id"]: event for event in arrows if event["ph"] == "f"}
    assert begins.keys() == ends.keys()
    waits = [e for e in trace["traceEvents"] if e["ph"] == "X" and str(e["name"]).startswith("enumerate(DataLoader)")]
    rows = worker_spans(trace)
    for number, begin in begins.items():
        end = ends[number]
        assert end["bp"] == "e"
        assert begin["ts"] <= end["ts"]
        assert any(s["ts"] <= begin["ts"] <= s["ts"] + s["dur"] + 0.001 for s in rows[begin["pid"]])
        assert any(
            (w["pid"], w["tid"]) == (end["pid"], end["tid"]) and w["ts"] - 5 <= end["ts"] <= w["ts"] + w["dur"] + 5
            for w in waits
        )


def durations(trace: dict[str, Any]) -> dict[str, list[float]]:
    """Nanoseconds of each span by its name, in the workers."""
    found: dict[str, list[float]] = defaultdict(list)
    for spans in worker_spans(trace).values():
        for span in spans:
            found[span["name"]].append(span["dur"] * 1000)
    return dict(found)


def disagreement(spans: list[float], own: list[int]) -> float:
    """Of the total, how much spans and the dataset's own clock differ.

    Without the half that differs most: a busy machine may take the CPU away between the two readings of a clock.
    """
    assert len(spans) == len(own)
    pairs = sorted(zip(sorted(spans), sorted(own), strict=True), key=lambda pair: abs(pair[0] - pair[1]))
    pairs = pairs[: len(pairs) - len(pairs) // 2]
    return abs(sum(span for span, _ in pairs) / sum(mine for _, mine in pairs) - 1)


@contextmanager
def raises_and_lets_go(error: type[Exception], match: str) -> Iterator[None]:
    """`pytest.raises`, after which no frame holds the loader's iterator.

    An error that a worker raised is in a ring with the iterator. Left to the garbage collector, its queues end before
    it does: the workers never hear that they are to end, and torch waits 5 s for each of them.
    """
    with pytest.raises(error, match=match) as caught:
        yield
    traceback.clear_frames(caught.tb)
