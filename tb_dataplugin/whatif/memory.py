"""Bytes that a DataLoader worker and a batch have in memory, from what the capture recorded."""

from __future__ import annotations

from typing import Final

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.whatif.loop import Floats

WORKERS_MEMORY: Final = ("host::processes", "workers_bytes")
"""Counter and series: resident memory of all DataLoader workers together."""


def find_worker_bytes(results: Results) -> Floats | None:
    """Of one DataLoader worker, at each sample: of those that lived then, as some may have ended."""
    workers = results.workers.times if results.workers else ()
    for series in results.trace.counters:
        if (series.counter, series.series) == WORKERS_MEMORY:
            alive = np.array([times.alive.contains(series.time_ns) for times in workers]).reshape(len(workers), -1)
            count = alive.sum(axis=0)
            return series.value[count > 0] / count[count > 0] if count.any() else None
    return None


def find_batch_bytes(results: Results) -> float | None:
    """Of the training loop's DataLoader."""
    sizes = [
        row.bytes / row.count for row in results.loop.stages if row.stage.kind == "collate" and row.bytes and row.count
    ]
    return max(sizes) if sizes else None
