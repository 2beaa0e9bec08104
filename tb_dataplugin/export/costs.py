"""Lines of the text report about copies to the device, the workers' CPU time and the host's load."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Protocol

from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration, percent, plural, significant

WIDTH = 100
MOST_NAMED = 5

LIMITS = {
    "cpu": "limited by computing",
    "no_cpu": "waiting for a CPU (estimated)",
    "blocked": "limited by storage, a lock or another process",
}


class Line(Protocol):
    """Formats one named number with its notes."""

    def __call__(self, name: str, value: str, *notes: str) -> str: ...


def cost_lines(capture: pb.Capture, line: Line) -> Iterator[str]:
    for device in capture.devices:
        if device.HasField("h2d"):
            yield _copies(device, line)
    if capture.HasField("worker_costs"):
        yield from _workers(capture.worker_costs, line)
    cores = [one.mean for one in capture.host_load if one.counter == "host::cpu"]
    if cores:
        spread = f"{plural(len(cores), 'core')}, {significant(min(cores))} to {significant(max(cores))} %"
        yield line("CPU busy", percent(sum(cores) / len(cores) / 100), spread)


def limit_lines(rows: Sequence[pb.Stage]) -> Iterator[str]:
    """What the stages' own time went to, where that can be told; the most time first."""
    for limit, words in LIMITS.items():
        stages = sorted((row for row in rows if row.limited_by == limit), key=lambda row: -row.self_us)
        names = list(dict.fromkeys(row.path[-1] for row in stages))
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            text = f"{words}: {', '.join(names[:MOST_NAMED])}{more}"
            yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _copies(device: pb.Device, line: Line) -> str:
    found = device.h2d
    return line(
        f"copies to device {device.id}",
        duration(found.copy_us),
        plural(found.count, "time"),
        f"{found.pageable} pageable" if found.pageable else "",
        f"{found.pinned} pinned" if found.pinned else "",
        f"{found.blocking} waited for" if found.launched else "",
        f"{duration(found.overlapped_us)} beside kernels",
        f"{significant(found.gb_per_s)} GB/s" if found.HasField("gb_per_s") else "",
    )


def _workers(costs: pb.WorkerCosts, line: Line) -> Iterator[str]:
    if costs.HasField("cpu_share"):
        without = f"no core {percent(costs.run_delay_share)}" if costs.HasField("run_delay_share") else ""
        threads = f"with hidden threads {significant(costs.threads)} times that" if costs.threads > 1.1 else ""
        yield line(
            "workers computing",
            percent(costs.cpu_share),
            f"of making {plural(costs.batches, 'batch')}",
            without,
            threads,
        )
    if costs.HasField("cached_share"):
        read = f"{significant(costs.read_chars / 1e6)} MB read"
        yield line("  read from cache", percent(costs.cached_share), read)
