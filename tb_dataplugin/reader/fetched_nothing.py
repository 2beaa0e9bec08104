"""Fetches of an IterableDataset that found it at its end: a DataLoader asks each worker until it is answered that there
is no batch left. They are started and never finished, and no batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tb_dataplugin.model.intervals import Int64Array
from tb_dataplugin.model.trace import UNKNOWN_NS, BatchCosts, BatchTable, LoaderInfo, WorkerProcess

Table = TypeVar("Table", BatchTable, BatchCosts)


def batches_fetched(
    table: BatchTable, costs: BatchCosts | None, loaders: Sequence[LoaderInfo], workers: Sequence[WorkerProcess]
) -> tuple[BatchTable, BatchCosts | None]:
    """Without those that found nothing, as far as it shows: the worker process has ended since, or a later epoch has
    begun. Else it may be a batch in work.
    """
    nothing = _found_nothing(table, loaders, workers)
    if not nothing.any():
        return table, costs
    return _rows(table, ~nothing), None if costs is None else _rows(costs, ~nothing)


def _found_nothing(
    table: BatchTable, loaders: Sequence[LoaderInfo], workers: Sequence[WorkerProcess]
) -> npt.NDArray[np.bool_]:
    iterable = [number for number, loader in enumerate(loaders) if loader.iterable]
    nothing: npt.NDArray[np.bool_] = np.isin(table.loader, iterable)
    for column in (table.finished_ns, table.arrived_ns, table.consumed_ns):
        nothing &= column == UNKNOWN_NS
    if nothing.any():
        last = max(int(column.max()) for column in (table.drawn_ns, table.consumed_ns))
        gone = [process.pid for process in workers if process.ended_ns is not None and process.ended_ns < last]
        nothing &= np.isin(table.pid, gone) | (table.epoch < _latest_epoch(table))
    return nothing


def _latest_epoch(table: BatchTable) -> Int64Array:
    """Per row, the newest epoch of its loader of which an index was drawn."""
    drawn = table.drawn_ns != UNKNOWN_NS
    latest = np.zeros(int(table.loader.max()) + 1, dtype=np.int64)
    np.maximum.at(latest, table.loader[drawn], table.epoch[drawn])
    return latest[table.loader]


def _rows(columns: Table, keep: npt.NDArray[np.bool_]) -> Table:
    return replace(columns, **{field.name: getattr(columns, field.name)[keep] for field in fields(columns)})
