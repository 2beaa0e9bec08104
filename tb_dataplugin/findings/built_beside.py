"""What threads of the program that build the loop's batches need for them."""

from __future__ import annotations

from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.findings.signals import Signals


def needed_beside_us(signals: Signals) -> float:
    """Of the window, their CPU time at least, each: what they wait for, a CPU or Python's lock, may be free in another
    loop. 0 where there are none, and where a queue fills or empties: they build other batches than the loop takes.
    """
    beside = signals.built_beside
    if beside is None or signals.unsteady is not None:
        return 0.0
    built = [(row, row.cpu_use) for row in signals.stages if row.stage.kind in BUILDING and row.self_us]
    return sum(use.cpu_us * row.in_workers_us / row.self_us for row, use in built if use) / beside.threads
