"""How many batches of the training loop's DataLoader a step takes, where that is not one: gradients are accumulated."""

from __future__ import annotations

import numpy as np

from tb_dataplugin.analyses.fed_waits import find_fed_waits
from tb_dataplugin.analyses.inner_loops import FEWEST_STEPS
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.making import batched_fetches, single_samples
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.intervals import Int64Array, int64
from tb_dataplugin.units import plural


def step_batches(results: Results) -> str:
    """``"4 batches"``, or ``"about 4 batches"`` where some steps take another number than the median one; "" where that
    is one, or not known.
    """
    taken = _taken(results)
    usual = int(np.percentile(taken, 50, method="lower")) if len(taken) >= FEWEST_STEPS else 0
    if usual < 2:
        return ""
    return f"{'' if (taken == usual).all() else 'about '}{plural(usual, 'batch')}"


def _taken(results: Results) -> Int64Array:
    """Per step; empty where steps are batches, or another thread takes these."""
    pipeline = results.trace.info.pipeline
    if results.steps is None or results.loader is None or results.trace.info.mode == "replay":
        return int64([])
    times = np.sort(_received(results))
    if pipeline is None or pipeline.step_source == "batch" or _are_ahead(results, times):
        return int64([])
    begin = int64([row.start_ns for row in results.steps.rows])
    end = begin + int64([row.duration_ns for row in results.steps.rows])
    return int64(np.searchsorted(times, end) - np.searchsorted(times, begin))


def _are_ahead(results: Results, times: Int64Array) -> bool:
    """Whether another thread of the program takes the batches from the DataLoader, at its own times."""
    own = results.trace.stage_spans.inner_waits
    return bool(find_fed_waits(results.trace)) and not own.contains(times).any()


def _received(results: Results) -> Int64Array:
    """When the loop got each batch; without DataLoader workers, when it began to wait for it. Not each ``next()``: an
    epoch's last one gives none.
    """
    loops, tree = list(results.use.loops), results.tree
    if results.workers is not None and results.settings is not None and results.settings.num_workers != 0:
        table = results.workers.batches.table
        return int64(table.consumed_ns[np.isin(table.loader, loops) & known(table.consumed_ns)])
    assert results.loader is not None
    waits = results.loader.waits
    built = tree.start_ns[single_samples(tree) | batched_fetches(tree)]
    number = np.unique(np.searchsorted(waits.start, built[waits.contains(built)], side="right") - 1)
    return int64(waits.start[number[np.isin(results.use.of_wait[number], loops)]])
