"""From where the numbers of steps count, where no profiler gave them."""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.step_batches import step_batches
from tb_dataplugin.units import count


def counting_sentence(results: Results) -> str:
    """With the first step's batch, which tells a training's log where the window is; "" of numbers by a profiler."""
    pipeline = results.trace.info.pipeline
    if pipeline is None or pipeline.step_boundaries_ns is None:
        return ""
    batch = _first_batch(results)
    several = step_batches(results)
    does = "begins with" if several else "trains on"
    which = "" if batch is None else f", which {does} batch {count(batch)} of its epoch (from 0)"
    each = (
        f"each is one step of the optimizer, with {several}; "
        if several and pipeline.step_source == "optimizer"
        else ""
    )
    return f"{each}counted from the window's first{which}"


def _first_batch(results: Results) -> int | None:
    """Its number in the epoch. Steps that end with a batch have it on their edge: of these it is not told."""
    pipeline, workers = results.trace.info.pipeline, results.workers
    if pipeline is None or workers is None or pipeline.step_source != "optimizer":
        return None
    bounds, table = pipeline.step_boundaries_ns, workers.batches.table
    if bounds is None or len(bounds) < 2:
        return None
    inside = (table.loader == results.use.main) & (table.number >= 0)
    inside &= (table.consumed_ns >= bounds[0]) & (table.consumed_ns < bounds[1])
    rows = np.flatnonzero(inside)
    return int(table.number[rows[table.consumed_ns[rows].argmin()]]) if len(rows) else None
