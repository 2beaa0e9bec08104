"""Advice to give each DataLoader worker a part of an iterable dataset, before there are more of them."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.signals import Signals

CODE: Final = """info = torch.utils.data.get_worker_info()
files = self.files if info is None else self.files[info.id :: info.num_workers]"""

FIRST: Final = f"""# first, in __iter__: a part of the files (shards, rows) for each DataLoader worker
{CODE}
# then
"""


def divide_first(signals: Signals, workers: int) -> str:
    """Begins advice to have so many DataLoader workers; "" where the dataset is divided, or need not be."""
    undivided = find_undivided(signals.loader)
    if workers < 2 or (undivided is None and signals.waste.twins is None):
        return ""
    each = f"each of {workers} DataLoader workers"
    if signals.waste.twins is not None:
        return f"First divide the data, by get_worker_info() in __iter__: else {each} reads all of it. "
    assert undivided is not None
    place = f"{undivided.dataset}.__iter__"
    if undivided.is_certain:
        return (
            f"First divide the data, by get_worker_info() in {place}: nothing in its code does, so {each} would read "
            f"all of it, and an epoch would have every item {workers} times. "
        )
    return (
        f"First see that {place} divides the data, by get_worker_info(): if it does not, {each} reads all of it, and "
        f"an epoch has every item {workers} times. "
    )


def with_division(first: str, code: str) -> str:
    """`first`: `divide_first`."""
    return f"{FIRST}{code}" if first else code
