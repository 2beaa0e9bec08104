"""DataLoader workers as text: a row for each, and what is said of each DataLoader's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tb_dataplugin.export.paragraphs import heading, wrap
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, TimeUnit, duration, in_unit, percent, ratio, unit_for

COLUMNS: Final = {
    "pid": 8,
    "batches": 8,
    "build": 8,
    "longest": 8,
    "busy": 7,
    "starved": 8,
    "epoch over": 11,
    "startup": 8,
    "skew": 6,
}
"""Heads and widths: together no more than the narrowest terminal has."""


def worker_lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.workers:
        return
    quiet = {summary.loader for summary in capture.worker_summaries if summary.quiet}
    listed = [worker for worker in capture.workers if worker.loader not in quiet]
    several = len({worker.loader for worker in listed}) > 1
    unit = unit_for(worker.longest_build_us for worker in listed)
    yield from heading(f"DataLoader workers   build: mean per batch in {unit.name}; shares of their lifetime", style)
    yield _row("", tuple(COLUMNS))
    for worker in listed:
        yield _row(f"{worker.loader}.{worker.worker}" if several else str(worker.worker), _cells(worker, unit))
    if quiet:
        yield from wrap(capture.quiet_workers_sentence, "  ")
    for summary in capture.worker_summaries:
        if not summary.quiet:
            yield from _summary(summary)


def _row(name: str, cells: Sequence[str]) -> str:
    widths = COLUMNS.values()
    return f"  {name:<5}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _cells(worker: pb.Worker, unit: TimeUnit) -> tuple[str, ...]:
    shares = (worker.busy_us, worker.starved_us, worker.epoch_over_us, worker.startup_us)
    has_built = worker.HasField("mean_build_us")
    return (
        str(worker.pid) if len(worker.pids) == 1 else f"{len(worker.pids)} pids",
        str(worker.batches),
        *(in_unit(time, unit) if has_built else UNKNOWN for time in (worker.mean_build_us, worker.longest_build_us)),
        *(percent(time / worker.alive_us if worker.alive_us else None) for time in shares),
        ratio(worker.skew) if worker.HasField("skew") else UNKNOWN,
    )


def _summary(summary: pb.WorkerSummary) -> Iterator[str]:
    yield from wrap(summary.sentence, "  ")
    if summary.head_of_line_us:
        held_back = duration(summary.head_of_line_us)
        yield f"  head-of-line wait: earlier batches held back finished ones for {held_back}"
