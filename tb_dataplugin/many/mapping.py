"""A map over traces with results in order. A trace that cannot be worked on costs its own result, never the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, as_completed
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from tb_dataplugin.errors import DataPipelineError, InternalError, UnreadableTrace
from tb_dataplugin.remote import Source, named

Result = TypeVar("Result")


class Engine(Protocol):
    """Where the work is done.

    `lost`: what the future of a trace raises whose process died; other traces may have been in that process. `remedy`:
    what to do about a trace that kills its process. `is_here`: the work is done on this machine, with its files.
    """

    @property
    def lost(self) -> tuple[type[Exception], ...]: ...

    @property
    def remedy(self) -> str: ...

    @property
    def is_here(self) -> bool: ...

    def executor(self, most: int) -> AbstractContextManager[Executor]:
        """For at most so many traces."""
        ...


def map_traces(
    traces: Sequence[Source],
    work: Callable[[Source], Result],
    engine: Engine,
    failed: Callable[[DataPipelineError], Result],
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """In the order of `traces`. `work`, what it takes and what it gives are pickled.

    What was lost with a process is done again, one trace at a time: then only the trace that kills it is lost.
    `failed` makes the result of a trace that has none. `progress` is told how many are done.
    """
    results: dict[int, Result] = {}

    def try_these(numbers: Sequence[int]) -> None:
        with engine.executor(len(numbers)) as executor:
            futures = {executor.submit(work, traces[number]): number for number in numbers}
            for future in as_completed(futures):
                number = futures[future]
                try:
                    results[number] = future.result()
                except engine.lost:
                    continue
                except Exception as error:
                    results[number] = failed(_as_error(traces[number], error, engine))
                progress(len(results))

    if traces:
        try_these(range(len(traces)))
    for number, trace in enumerate(traces):
        if number not in results:
            try_these([number])
        if number not in results:
            reason = "the process that read it was killed, twice"
            results[number] = failed(UnreadableTrace(named(trace), reason, engine.remedy))
            progress(len(results))
    return [results[number] for number in range(len(traces))]


def _as_error(trace: Source, error: Exception, engine: Engine) -> DataPipelineError:
    if isinstance(error, DataPipelineError):
        return error
    if isinstance(error, MemoryError):
        return UnreadableTrace(named(trace), "there is not enough memory where it was read", engine.remedy)
    if isinstance(error, CancelledError):
        return UnreadableTrace(named(trace), "the connection to those who read it was lost", "run the command again")
    return InternalError(f"analyse {named(trace)}", error)
