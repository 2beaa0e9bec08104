"""The recorder's own readings of CPU time in which a thread waited for a CPU, as the trace carries them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from annotate.recording.training_thread import Ledger
from annotate.trace.clock import Clock
from annotate.trace.worker_files import WorkerFile
from annotate.trace_format import Collections


def cpu_readings(files: Iterable[WorkerFile], ledger: Ledger | None, pid: int, clock: Clock) -> Collections:
    """Those around the spans that the trace gets.

    Args:
        files: of the workers.
        ledger: the training thread's, in the process `pid`.
    """
    threads: list[tuple[int, Any, Any]] = [(file.pid, file.readings, file.rows[file.kept]) for file in files]
    if ledger is not None:
        threads.append((pid, ledger.readings(), ledger.rows()))
    found: Collections = {"start_us": [], "length_us": [], "pid": []}
    for its, readings, rows in threads:
        if not len(readings) or not len(rows):
            continue
        start, end = readings.T
        seen = (end > rows["start"].min()) & (start < rows["end"].max())
        start, end = clock.ts_ns(start[seen]), clock.ts_ns(end[seen])
        found["start_us"] += (start / 1000).round(3).tolist()
        found["length_us"] += ((end - start) / 1000).round(3).tolist()
        found["pid"] += [its] * len(start)
    return found
