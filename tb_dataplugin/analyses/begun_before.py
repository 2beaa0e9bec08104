"""Calls that began before the window, and caused a part of its data wait that the window's own calls do not explain.

A row of the stage table has all data wait that the stage caused, and the calls that count for the window alone. Where a
call that had begun before has much of that wait, its length, sample and file are what there is to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.first_calls import may_be_first
from tb_dataplugin.analyses.making import BoolArray
from tb_dataplugin.analyses.slow_calls import Calls
from tb_dataplugin.analyses.stages import Path, groups
from tb_dataplugin.model.intervals import Int64Array, Window

WORTH_A_WORD: Final = 0.25
"""Share of the data wait that a stage caused."""

FAR_LONGER: Final = 2.0
"""Times the longest call that counts: the batches that are in the queue when the window begins are like all others."""


@dataclass(frozen=True, slots=True)
class BegunBefore:
    """Of one chain of stages: so many calls, all together as long as `total_ns`, that caused `wait_ns`. Of the longest:
    its length, whether it may be the first of its process, and its sample, by index (None: not known) and files.
    """

    count: int
    total_ns: int
    wait_ns: int
    longest_ns: int
    is_first: bool
    index: int | None
    files: tuple[str, ...]


def find_begun_before(
    calls: Calls, window: Window, waited: Int64Array | None, apart: BoolArray | None = None
) -> Mapping[Path, BegunBefore]:
    """Of chains of stages with so much of their data wait from such calls, of which one is longer than all that count.

    Args:
        waited: per span, the data wait that it caused (`Attribution.wait_by_span_ns`).
        apart: spans that are not the training loop's.
    """
    tree = calls.tree
    if waited is None:
        return {}
    caused = waited > 0 if apart is None else (waited > 0) & ~apart
    counts = tree.starts_in(window)
    before = caused & ~counts & (tree.start_ns < window.start_ns)
    whole = np.bincount(tree.node[caused], waited[caused], len(tree.paths))
    first, duration, found = may_be_first(calls.trace, tree), tree.took_ns, {}
    usual = np.zeros(len(tree.paths), dtype=np.int64)
    np.maximum.at(usual, tree.node[counts], duration[counts])
    for node, here in groups(tree.node, np.flatnonzero(before)):
        wait_ns, longest = int(waited[here].sum()), int(here[duration[here].argmax()])
        if wait_ns < WORTH_A_WORD * whole[node] or duration[longest] < FAR_LONGER * usual[node]:
            continue
        found[tree.paths[node]] = BegunBefore(
            len(here),
            int(duration[here].sum()),
            wait_ns,
            int(duration[longest]),
            bool(first[longest]),
            calls.inherited(longest, calls.facts.index),
            calls.files(longest),
        )
    return found
