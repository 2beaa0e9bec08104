"""Spans of threads beside the recorded one, as events: in rows of their own, under the pid of their process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, Final

import annotate.trace_format as form
from annotate.recording import switch
from annotate.recording.other_threads import ThreadSpan
from annotate.recording.rows import ThreadRow, is_sample, name_numbers
from annotate.trace.clock import Clock
from annotate.trace.worker_files import WorkerFile

_AT_ONCE: Final = 50_000
"""Events formatted at a time; a bound on memory."""


def of_training_process(spans: Iterable[ThreadSpan], window: tuple[int, int], clock: Clock, pid: int) -> bytes:
    """What overlaps the window."""
    texts: list[str] = []
    begin, end = window
    for span in (span for span in spans if span.end >= begin and span.start <= end):
        args = [_cpu(span.cpu)] + ([f'"{form.ARG_INDEX}":{span.item}'] if span.item >= 0 else [])
        texts.append(_event(switch.HANDED_OUT.get(span.name, span.name), pid, span.thread, span, clock, args))
    return "".join(texts).encode()


def kept_of(file: WorkerFile, window: tuple[int, int], received: set[tuple[int, int]]) -> list[ThreadRow]:
    """What overlaps the window, or belongs to a batch that it has received (by iteration and batch)."""
    begin, end = window
    return [
        row for row in file.beside if row.start <= end and (row.end >= begin or (row.iteration, row.batch) in received)
    ]


def of_worker(
    file: WorkerFile, order: int, ts: int, clock: Clock, tails: dict[tuple[int, int], str]
) -> Iterator[bytes]:
    """What other threads of a worker did, and the names of their rows.

    Threads that lived one after the other (a pool for each sample) share a row. A span within a sample of the worker's
    own thread has its index.

    Args:
        order: of the worker's own row, behind which these stand.
        ts: when the window began, microseconds of the trace.
        tails: arguments that name the batch, by iteration and batch.
    """
    row_of = _rows_of_threads(file.beside)
    for number, tid in enumerate(sorted(set(row_of.values())), 1):
        title = form.WORKER_PROCESS_NAME.format(file.worker) + f", thread {number}"
        for kind, args in (("thread_name", {"name": title}), ("thread_sort_index", {"sort_index": order})):
            facts = {"ph": "M", "name": kind, "ts": ts, "pid": file.pid, "tid": tid, "args": args}
            yield (json.dumps(facts) + ",\n").encode()
    indices = _indices(file)
    for at in range(0, len(file.beside), _AT_ONCE):
        texts = []
        for row, index in zip(file.beside[at : at + _AT_ONCE], indices[at : at + _AT_ONCE], strict=True):
            about = [tails[row.iteration, row.batch], _cpu(row.cpu)]
            about += [f'"{form.ARG_INDEX}":{index}'] if index >= 0 else []
            texts.append(_event(file.names[row.name], file.pid, row_of[row.thread], row, clock, about))
        yield "".join(texts).encode()


def _rows_of_threads(spans: list[ThreadRow]) -> dict[int, int]:
    """Thread -> the row of the trace that shows it, which goes by the first thread on it."""
    lives: dict[int, tuple[int, int]] = {}
    for span in spans:
        start, end = lives.get(span.thread, (span.start, span.end))
        lives[span.thread] = min(start, span.start), max(end, span.end)
    row_of: dict[int, int] = {}
    free: list[tuple[int, int]] = []
    for thread, (start, end) in sorted(lives.items(), key=lambda life: life[1]):
        row = heappop(free)[1] if free and free[0][0] <= start else thread
        row_of[thread] = row
        heappush(free, (end, row))
    return row_of


def _indices(file: WorkerFile) -> list[int]:
    """For each span of `beside` the dataset index: its own, or that of the sample that its worker was in meanwhile."""
    import numpy as np

    named = np.array([is_sample(name) for name in file.names] or [False])
    samples: Any = file.rows[named[name_numbers(file.rows)]]
    samples = samples[np.argsort(samples["start"], kind="stable")]
    start = np.array([row.start for row in file.beside], dtype=np.int64)
    end = np.array([row.end for row in file.beside], dtype=np.int64)
    found = np.array([row.item for row in file.beside], dtype=np.int64)
    if len(samples) and len(found):
        at = np.searchsorted(samples["start"], start, side="right") - 1
        inside = (at >= 0) & (end <= samples["end"][at]) & (found < 0)
        found[inside] = samples["extra"][at[inside]]
    indices: list[int] = found.tolist()
    return indices


def _cpu(ns: int) -> str:
    return f'"{form.ARG_CPU_US}":{round(max(0, ns) / 1000, 3)}'


def _event(name: str, pid: int, tid: int, span: ThreadSpan | ThreadRow, clock: Clock, args: list[str]) -> str:
    start, length = clock.ts_ns(span.start), span.end - span.start
    return (
        f'{{"ph":"X","cat":"{form.MARKER_CATEGORY}","name":{json.dumps(name)},"pid":{pid},"tid":{tid},'
        f'"ts":{start // 1000}.{start % 1000:03d},"dur":{length // 1000}.{length % 1000:03d},'
        f'"args":{{{",".join(args)}}}}},\n'
    )
