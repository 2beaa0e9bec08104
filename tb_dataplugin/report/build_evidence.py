"""The part of the report that tells reasons apart: units change here (ns to us), nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.evidence import Evidence
from tb_dataplugin.analyses.host_load import SeriesSummary
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.diagnostics import Diagnostic, Unavailable
from tb_dataplugin.report import report_pb2 as pb


def evidence_report(evidence: Evidence) -> dict[str, Any]:
    """Fields of `Capture` by name."""
    load = evidence.load
    return {
        "worker_costs": None if isinstance(evidence.costs, Unavailable) else _costs(evidence.costs),
        "host_load": () if isinstance(load, Unavailable) else map(_series, load.series),
    }


def copies_report(found: CopyFigures) -> pb.Copies:
    return pb.Copies(
        count=found.count,
        pageable=found.pageable,
        pinned=found.pinned,
        launched=found.launched,
        blocking=found.blocking if found.launched else None,
        copy_us=found.copy_ns / 1e3,
        overlapped_us=None if found.overlapped_ns is None else found.overlapped_ns / 1e3,
        host_us=found.host_ns / 1e3 if found.launched else None,
        bytes=found.bytes,
        gb_per_s=found.gigabytes_per_s,
    )


def copy_diagnostics(devices: Sequence[DeviceIdle], copies: Sequence[CopyFigures | None]) -> Iterator[Diagnostic]:
    """What is not told of devices and their copies."""
    for device, found in zip(devices, copies, strict=True):
        if device.kernel_busy_ns is None:
            message = f"No kernels of device {device.device} were recorded, only copies: what it computed is unknown"
            yield Diagnostic("device", "no_kernels", 1, message)
        if found is None:
            message = f"No copies to device {device.device} were recorded in the window, so nothing is known of them"
            yield Diagnostic("device", "no_copies", 1, message)
        elif not found.launched:
            message = f"No copy to device {device.device} can be linked to its call: whether it blocked is unknown"
            yield Diagnostic("device", "unlinked_copies", 1, message)


def evidence_diagnostics(evidence: Evidence, has_workers: bool) -> Iterator[Diagnostic]:
    """What a capture of a training run does not tell of its machine."""
    load, costs = evidence.load, evidence.costs
    if isinstance(load, Unavailable):
        yield load.as_diagnostic()
    if has_workers and isinstance(costs, Unavailable):
        yield costs.as_diagnostic()
    elif not isinstance(costs, Unavailable) and costs.run_delay is None:
        message = (
            "How long workers wanted a core and had none was not recorded (it is on Linux with schedstat), so stages "
            "that wait are not told apart from stages without a core"
        )
        yield Diagnostic("workers", "no_run_delay", 1, message)


def _costs(costs: WorkerCosts) -> pb.WorkerCosts:
    return pb.WorkerCosts(
        batches=costs.batches,
        wall_us=costs.wall_ns / 1e3,
        cpu_share=costs.cpu,
        run_delay_share=costs.run_delay,
        process_cpu_share=costs.process_cpu,
        threads=costs.threads,
        read_bytes=costs.read_bytes,
        read_chars=costs.read_chars,
        cached_share=costs.cached,
        voluntary_switches=costs.voluntary,
        involuntary_switches=costs.involuntary,
        major_faults=costs.major_faults,
    )


def _series(one: SeriesSummary) -> pb.CounterSummary:
    return pb.CounterSummary(
        counter=one.counter, series=one.series, samples=one.samples, mean=one.mean, low=one.low, high=one.high
    )
