"""Datasets that hold all samples as tensors: a batch costs nothing but its indexing, if it is indexed as a whole."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.signals import Signals

DATASETS: Final = frozenset(("TensorDataset",))
"""Torch's own; by the label of their samples."""

ADVICE: Final = (
    "The samples are tensors in memory: take a whole batch of them at once, by a list of indices, instead of sample by "
    "sample. Nothing is left to collate then, and DataLoader workers would only add the way of the batches."
)
CODE: Final = (
    "DataLoader(dataset, batch_size=None,\n"
    "           sampler=BatchSampler(RandomSampler(dataset), batch_size, drop_last=False))"
)


def is_in_memory(signals: Signals) -> bool:
    """Every sample of the capture is of such a dataset."""
    labels = {row.stage.label for row in signals.stages if row.stage.kind == "sample"}
    return bool(labels) and labels <= DATASETS
