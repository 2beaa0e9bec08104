"""What a dataset makes in one call: a sample, or a whole batch.

A DataLoader with ``batch_size=None`` hands out what its dataset gives as it is. Where its sampler gives lists of
indices, each call makes a batch; what an iterable dataset gives may be a sample or a batch, which no capture shows.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from tb_dataplugin.model.trace import LoaderInfo, Trace

Item = Literal["sample", "batch", "item"]
"""item: a sample or a batch."""

UNKNOWN: Final = -1
"""In `BatchTable.samples`."""


def items_of(trace: Trace) -> tuple[Item, ...]:
    """By number of the loader."""
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    return tuple(item_of(trace, number) for number in range(len(loaders)))


def item_of(trace: Trace, number: int) -> Item:
    """`number`: of the loader; one that is not in the record makes samples."""
    pipeline = trace.info.pipeline
    if pipeline is None or not 0 <= number < len(pipeline.loaders):
        return "sample"
    loader = pipeline.loaders[number]
    if not loader.is_whole:
        return "sample"
    if loader.iterable:
        return "item"
    if loader.sampler == "BatchSampler" or _draws_lists(trace, number):
        return "batch"
    return "sample" if _has_index(trace, loader) else "item"


def _draws_lists(trace: Trace, number: int) -> bool:
    """Only the indices of lists are counted."""
    table = trace.info.pipeline.batches if trace.info.pipeline else None
    return table is not None and bool((table.samples[table.loader == number] != UNKNOWN).any())


def _has_index(trace: Trace, loader: LoaderInfo) -> bool:
    """Whether one of its spans has a number for an index."""
    spans = trace.stage_spans
    labels = [number for number, stage in enumerate(spans.stages) if stage.label == loader.dataset]
    mine = np.isin(spans.stage, labels) & spans.is_kind("sample")
    return bool((trace.span_facts.index[mine] >= 0).any())


def datasets_of_batches(trace: Trace) -> frozenset[str]:
    """Classes of the datasets each of whose calls makes a whole batch, whichever loader calls them."""
    loaders = trace.info.pipeline.loaders if trace.info.pipeline else ()
    items = items_of(trace)
    found = {loader.dataset for loader, item in zip(loaders, items, strict=True) if item == "batch"}
    return frozenset(found - {loader.dataset for loader, item in zip(loaders, items, strict=True) if item != "batch"})
