"""How much of each stage's own time is work for a CPU."""

from __future__ import annotations

from collections.abc import Mapping

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.stages import Path


def find_on_cpu(results: Results) -> Mapping[Path, float]:
    """Shares of the own time of each chain of stages, waiting for a CPU aside; without those that are not known."""
    shares = {}
    for row in results.loop.stages:
        spent = results.loop.occupancy.get(row.path)
        if spent is not None and row.self_ns:
            shares[row.path] = min(1.0, spent.cpu_ns / max(1, row.self_ns - (spent.run_delay_ns or 0)))
    return shares
