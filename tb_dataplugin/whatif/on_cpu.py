"""Of each stage: how much of its own time is work for a CPU, and how large its results are."""

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


def find_result_bytes(results: Results) -> Mapping[Path, float]:
    """Of each chain of stages, the mean of one call; without those whose results were not measured."""
    return {row.path: row.bytes / row.count for row in results.loop.stages if row.bytes is not None and row.count}
