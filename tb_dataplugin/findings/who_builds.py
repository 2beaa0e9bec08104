"""Words for the processes that build batches: advice speaks of a loader's DataLoader workers only where it has some."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.signals import Signals

AROUND: Final = (
    "This code around the DataLoader runs in the training thread, so more DataLoader workers do not help. Let the "
    "workers do it, in the dataset or in collate_fn, or run it ahead in a separate thread."
)
AROUND_ALONE: Final = (
    "This code around the DataLoader runs in the training thread, and would with DataLoader workers, too. Do it in the "
    "dataset or in collate_fn, which such workers run ahead (num_workers=1 or more), or run it ahead in a separate "
    "thread."
)

DRAWN: Final = (
    "Indices are drawn in the training thread, so {}DataLoader workers do not help. Draw the order of an epoch at once "
    "with numpy or torch, and only step through it."
)


def once(signals: Signals) -> str:
    """How often to open what all samples need."""
    return "once per DataLoader worker" if signals.num_workers else "once"


def around_advice(signals: Signals) -> str:
    """On code around the loader."""
    return AROUND if signals.num_workers else AROUND_ALONE


def sampler_advice(signals: Signals) -> str:
    return DRAWN.format("more " if signals.num_workers else "")
