"""The DataLoader that a capture of several is known by, where the loop waits for another one for longest.

Which one that is may change with the first thing that is mended, and two captures of one program are to be compared by
the same one.
"""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.analyses.items import Item, item_of
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.loop import Loop
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.throughput import count_samples, main_loader
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import LoaderInfo, Trace


@dataclass(frozen=True, slots=True)
class NamedLoader:
    """`samples`: that the training thread got of it in the window, `samples_per_batch`: mean of their batches; None:
    not known.
    """

    settings: LoaderInfo
    item: Item
    samples: int | None
    samples_per_batch: float | None


def find_named_loader(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    workers: Workers | None,
    use: LoaderUse,
    loop: Loop,
) -> NamedLoader | None:
    """None where it is the training loop's."""
    settings = main_loader(trace, use.by_name)
    if use.named is None or settings is None:
        return None
    counted = count_samples(trace, tree, window, loader, workers, use.named, loop.apart)
    item = item_of(trace, use.named.main)
    each = counted.samples / counted.batches if counted.samples and counted.batches and item != "batch" else None
    return NamedLoader(settings, item, counted.samples or None, each)
