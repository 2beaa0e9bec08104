"""The part of the report that is about DataLoader workers: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.analyses.workers import BatchTimes, QueueDepth, Workers, WorkerTimes
from tb_dataplugin.model.trace import UNKNOWN_NS
from tb_dataplugin.report import report_pb2 as pb

MAX_BATCHES = 5000
MAX_QUEUE_POINTS = 4000


def workers_report(found: Workers, slow: tuple[SlowSample, ...]) -> dict[str, Any]:
    """Fields of `Capture` by name."""
    return {
        "workers": map(_worker, found.times),
        "batches": _batches(found.batches),
        "batch_count": len(found.batches.table),
        "queues": map(_queue, found.queues),
        "slow_samples": map(_slow_sample, slow),
    }


def _worker(times: WorkerTimes) -> pb.Worker:
    process = times.process
    return pb.Worker(
        worker=process.worker,
        pid=process.pid,
        loader=process.loader,
        batches=times.batches,
        busy_us=times.busy.total_ns / 1e3,
        idle_us=times.idle.total_ns / 1e3,
        starved_us=times.starved.total_ns / 1e3,
        startup_us=times.startup.total_ns / 1e3,
        skew=times.skew,
        dropped_spans=process.dropped_spans,
    )


def _batches(found: BatchTimes) -> Iterator[pb.Batch]:
    table = found.table
    for row in range(min(len(table), MAX_BATCHES)):

        def at(column: Any, row: int = row) -> float | None:
            time = int(column[row])
            return None if time == UNKNOWN_NS else time / 1e3

        start, end = at(found.wait_start_ns), at(found.wait_end_ns)
        yield pb.Batch(
            number=int(table.number[row]),
            epoch=int(table.epoch[row]),
            loader=int(table.loader[row]),
            worker=int(table.worker[row]),
            drawn_us=at(table.drawn_ns),
            started_us=at(table.started_ns),
            finished_us=at(table.finished_ns),
            arrived_us=at(table.arrived_ns),
            consumed_us=at(table.consumed_ns),
            wait_us=None if start is None or end is None else end - start,
            in_queue_us=at(found.in_queue_ns),
            head_of_line_us=at(found.head_of_line_ns),
        )


def _queue(depth: QueueDepth) -> pb.QueueDepth:
    """Every change; where there are too many to draw, of each stretch the moments of fewest and of most ready."""
    rows = _telling_rows(depth)
    return pb.QueueDepth(
        loader=depth.loader,
        time_us=depth.time_ns[rows] / 1e3,
        ready=depth.ready[rows],
        in_flight=depth.in_flight[rows],
    )


def _telling_rows(depth: QueueDepth) -> npt.NDArray[np.intp]:
    count = len(depth.time_ns)
    if count <= MAX_QUEUE_POINTS:
        return np.arange(count)
    stretches = np.array_split(np.arange(count), MAX_QUEUE_POINTS // 2)
    chosen = [(rows[depth.ready[rows].argmin()], rows[depth.ready[rows].argmax()]) for rows in stretches]
    return np.unique(np.array(chosen))


def _slow_sample(sample: SlowSample) -> pb.SlowSample:
    return pb.SlowSample(
        index=sample.index,
        loader=sample.loader,
        duration_us=sample.duration_ns / 1e3,
        worker=sample.worker,
        batch=sample.batch,
        epoch=sample.epoch,
        stage=sample.stage,
        stage_us=sample.stage_ns / 1e3,
    )
