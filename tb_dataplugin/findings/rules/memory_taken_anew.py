"""DataLoader workers spend much of their time on memory: they give large blocks back to the system, and take them anew.

What it saves is not known before it is tried: the training process takes part in it, and memory that stays is in the
caches, too. So no gain is said of it.
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.findings.evidence import number, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import batch_bytes
from tb_dataplugin.findings.thresholds import MUCH_IN_KERNEL
from tb_dataplugin.units import count, data_size, percent

PAGE: Final = 4096
"""Bytes that one page fault brings."""

MOST_FAULT_US: Final = 5.0
"""Of the kernel for a page fault that memory answers: 0.1 to 1 us on a machine of its own, 1 to 3 in a virtual one.
What takes longer is something else."""

READ_BYTES_PER_S: Final = 2e9
"""The kernel copies what is read from the page cache, at this pace at least."""

LARGE: Final = 128 * 1024
"""Bytes of a block, from which the C library gives it back to the system as it is freed."""

MOSTLY: Final = 0.5
"""Of the memory that was taken, what large results have to be, to be why."""

ADVICE: Final = (
    "Large arrays are given back to the system as soon as they are freed, and each new one is zeroed again, page by "
    "page. Let malloc keep them: start the program with these variables (glibc; DataLoader workers inherit them). Each "
    "process may then hold that much more memory. In the code the same is saved by writing into arrays that stay (out= "
    "and in-place operations) and by smaller types."
)
CODE: Final = "MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=268435456 python train.py"


@rule(title="Memory that is taken anew for each batch", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    costs = signals.costs
    if costs is None or costs.system is None or not costs.minor_faults:
        return None
    size = batch_bytes(signals.stages)
    faults = costs.minor_faults / costs.batches - (size or 0.0) / PAGE
    part = _part(costs, faults)
    if part < MUCH_IN_KERNEL or _may_be_collectors(signals, costs, part, faults):
        return None
    kernel = f"their main threads ran in the kernel for {percent(costs.system)} of the build time"
    made = "" if size is None else f", to make {data_size(size)}"
    taken = f"{count(round(faults))} page faults for each batch: {data_size(faults * PAGE)} of memory taken{made}"
    return Finding(
        severity=severity(signals, None, otherwise_us=(signals.wait_cost_us or 0.0) * part),
        title=f"DataLoader workers take memory from the system anew, in {percent(part)} of the build time",
        advice=ADVICE,
        evidence=(
            share("in_kernel", costs.system, "build time", kernel),
            number("minor_faults", faults, "count", taken, whole="batch"),
        ),
        code=CODE,
        confidence="likely",
        confidence_reason="Files that are read through a memory map fault in the same way, and these faults stay. What "
        "it saves is known when it is tried.",
    )


def _part(costs: WorkerCosts, faults: float) -> float:
    """Of the build time, for page faults: in the kernel, and not for reading."""
    reading_us = (costs.read_chars or 0) / costs.batches / READ_BYTES_PER_S * 1e6
    kernel_us = (costs.system or 0.0) * costs.build_us - reading_us
    return max(0.0, min(kernel_us, MOST_FAULT_US * faults)) / costs.build_us


def _may_be_collectors(signals: Signals, costs: WorkerCosts, part: float, faults: float) -> bool:
    """A collection of garbage writes to all objects that it scans, and a forked worker copies their pages. Large
    results, where they are seen, are the likelier reason.
    """
    if (costs.faults_gc or 0.0) < part:
        return False
    large = sum(row.bytes for row in signals.stages if row.bytes and row.bytes >= LARGE * row.count)
    return large / costs.batches < MOSTLY * faults * PAGE
