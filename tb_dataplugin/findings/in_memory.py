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


def code_for(signals: Signals) -> str:
    """With the loader's own settings, as far as they are known."""
    loader = signals.loader
    size = loader.batch_size if loader is not None and loader.batch_size else "batch_size"
    order = "SequentialSampler" if loader is not None and loader.shuffle is False else "RandomSampler"
    last = bool(loader is not None and loader.drop_last)
    sampler = f"BatchSampler({order}(dataset), {size}, drop_last={last})"
    return f"DataLoader(dataset, batch_size=None,\n           sampler={sampler})"


def is_in_memory(signals: Signals) -> bool:
    """Every sample of the capture is of such a dataset."""
    labels = {row.stage.label for row in signals.stages if row.stage.kind == "sample"}
    return bool(labels) and labels <= DATASETS
