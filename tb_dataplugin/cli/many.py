"""Many traces at once, each in a process of a pool. One that kills its process twice costs its own row."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from typing import Final, NamedTuple

from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.pipeline import KeptCapture
from tb_dataplugin.reader.discovery import TraceFile

MOST_JOBS: Final = 256


class Outcome(NamedTuple):
    """What became of a trace: a capture, or a line that says why there is none, and the exit status."""

    kept: KeptCapture | None
    complaint: str = ""
    status: int = 0


Work = Callable[[TraceFile], Outcome]
Pool = Callable[[int], Executor]


def process_pool(jobs: int) -> Executor:
    """Its processes are started afresh: what this one has open is not theirs."""
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def analyse_many(
    traces: Sequence[TraceFile],
    work: Work,
    jobs: int,
    pool: Pool = process_pool,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Outcome]:
    """In the order of `traces`. `work` and what it gives are pickled. `progress` is told how many are done."""
    outcomes: dict[int, Outcome] = {}
    with pool(min(jobs, len(traces)) or 1) as executor:
        numbers = {executor.submit(work, trace): number for number, trace in enumerate(traces)}
        for future in as_completed(numbers):
            try:
                outcomes[numbers[future]] = future.result()
            except BrokenExecutor:  # of all that were under way, and of all that waited
                continue
            progress(len(outcomes))
    for number, trace in enumerate(traces):
        if number not in outcomes:
            outcomes[number] = _alone(trace, work, pool)
            progress(len(outcomes))
    return [outcomes[number] for number in range(len(traces))]


def _alone(trace: TraceFile, work: Work, pool: Pool) -> Outcome:
    try:
        with pool(1) as executor:
            return executor.submit(work, trace).result()
    except BrokenExecutor:
        reason, remedy = "the process that read it was killed twice", "is there enough memory? Use fewer --jobs"
        error = UnreadableTrace(trace.url or trace.path, reason, remedy)
        return Outcome(None, str(error), error.exit_status)
