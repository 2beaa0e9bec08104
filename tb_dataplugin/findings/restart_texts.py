"""A loop that makes iterators in its steps, in words: for the verdict and its finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.findings.restart_signals import RestartedLoader, RestartSignals
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import count, listed, percent, plural

ONE_EACH: Final = 1.5
"""Batches of an iterator, on average, up to which there is one for each."""


KEEP_CODE: Final = """batches = iter(loader)  # once, before the loop
...
try:
    batch = next(batches)
except StopIteration:  # the epoch is over
    batches = iter(loader)
    batch = next(batches)"""


def restart_sentence(signals: Signals, restarts: RestartSignals) -> str:
    """The verdict's, where that costs enough."""
    idle = signals.share(signals.idle.total_us)
    opening = "" if idle is None else f"{signals.idle.of_window(idle)}. "
    cost = f"{what_it_is(restarts)} take up to {percent(restarts.share)} of the step"
    return f"{opening}{made_anew(restarts)}: {cost}."


def made_anew(restarts: RestartSignals) -> str:
    """``A new iterator of the DataLoader of Pets (batches of 8) is made for each batch (train.py:9)``."""
    what = "New iterators" if len(restarts.loaders) > 1 else "A new iterator"
    are = "are" if len(restarts.loaders) > 1 else "is"
    taken = max(each.taken for each in restarts.loaders)
    each = "each batch" if taken < ONE_EACH else f"every {taken:.1f} batches"
    where = f" ({restarts.place})" if restarts.place else ""
    return f"{what} of {names_of(restarts.loaders)} {are} made for {each}{where}"


def what_it_is(restarts: RestartSignals) -> str:
    if restarts.has_workers:
        return "starting and ending DataLoader workers, and waiting for their first batches,"
    return "making iterators, and drawing their first indices,"


def made_text(each: RestartedLoader, steps: int | None) -> str:
    """``12 iterators of the DataLoader of Pets in 12 steps, of each 1 batch taken of the 40 that it would give``."""
    of = f" of the {count(each.length)} that it would give" if each.length else ""
    made = f"{plural(each.made, 'iterator')} of {name_of(each.loader)} in {plural(steps or 0, 'step')}"
    return f"{made}, of each {taken_text((each,))} taken{of}"


def taken_text(loaders: Sequence[RestartedLoader]) -> str:
    most = max(each.taken for each in loaders)
    return "1 batch" if most < ONE_EACH else f"{most:.3g} batches"


def names_of(loaders: Sequence[RestartedLoader]) -> str:
    """Loaders that look the same are counted."""
    names = Counter(name_of(each.loader) for each in loaders)
    return listed(
        [
            name if count == 1 else name.replace("the DataLoader", f"{count} DataLoaders", 1)
            for name, count in names.items()
        ]
    )
