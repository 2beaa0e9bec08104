"""DataLoader workers as text: a row for each, and what is said of each DataLoader's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.export.paragraphs import heading, wrap
from tb_dataplugin.export.tables import Column, cells, heads, with_room
from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import UNKNOWN, TimeUnit, duration, in_unit, percent, ratio, unit_for

NAMES: Final = 5
COLUMNS: Final = (
    Column("pid", 8, 5),
    Column("batches", 8),
    Column("build", 8),
    Column("longest", 8, 4),
    Column("busy", 7),
    Column("starved", 8),
    Column("epoch over", 11, 1),
    Column("startup", 8, 2),
    Column("skew", 6, 3),
)


def worker_lines(capture: pb.Capture, style: Style) -> Iterator[str]:
    if not capture.workers:
        return
    quiet = {summary.loader for summary in capture.worker_summaries if summary.quiet}
    listed = [worker for worker in capture.workers if worker.loader not in quiet]
    several = len({worker.loader for worker in listed}) > 1
    unit = unit_for(worker.longest_build_us for worker in listed)
    yield from heading(f"DataLoader workers   build: mean per batch in {unit.name}; shares of their lifetime", style)
    kept = with_room(COLUMNS, columns() - 2 - NAMES)
    yield f"  {'':<{NAMES}}{heads(kept)}"
    for worker in listed:
        name = f"{worker.loader}.{worker.worker}" if several else str(worker.worker)
        yield f"  {name:<{NAMES}}{cells(kept, _texts(worker, unit))}"
    if quiet:
        yield from wrap(capture.quiet_workers_sentence, "  ")
    for summary in capture.worker_summaries:
        if not summary.quiet:
            yield from _summary(summary)


def _texts(worker: pb.Worker, unit: TimeUnit) -> dict[str, str]:
    """By column."""

    def of_life(time: float) -> str:
        return percent(time / worker.alive_us if worker.alive_us else None)

    has_built = worker.HasField("mean_build_us")
    return {
        "pid": str(worker.pid) if len(worker.pids) == 1 else f"{len(worker.pids)} pids",
        "batches": str(worker.batches),
        "build": in_unit(worker.mean_build_us, unit) if has_built else UNKNOWN,
        "longest": in_unit(worker.longest_build_us, unit) if has_built else UNKNOWN,
        "busy": of_life(worker.busy_us),
        "starved": of_life(worker.starved_us),
        "epoch over": of_life(worker.epoch_over_us),
        "startup": of_life(worker.startup_us),
        "skew": ratio(worker.skew) if worker.HasField("skew") else UNKNOWN,
    }


def _summary(summary: pb.WorkerSummary) -> Iterator[str]:
    yield from wrap(summary.sentence, "  ")
    if summary.head_of_line_us:
        held_back = duration(summary.head_of_line_us)
        words = (
            f"finished batches were in the queue for {held_back} (summed over them) while the training thread waited"
        )
        yield from wrap(f"head-of-line wait: {words} for an earlier one", "  ")
