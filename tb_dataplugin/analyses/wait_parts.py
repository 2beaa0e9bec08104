"""The data wait while it is divided: sets of time by stage, and how much of it each span caused."""

from __future__ import annotations

from typing import Final

import numpy as np

from annotate.trace_format import span_name
from tb_dataplugin.analyses.stages import StageTree, groups
from tb_dataplugin.model.intervals import Int64Array, Intervals

OTHER, STARTUP, SHUTDOWN, STARVED, TRANSFER = "other", "startup", "shutdown", "starved", "transfer"
"""Data wait that no stage caused."""

COLLECTOR: Final = "collector"
"""The same: full collections, which fall on any stage by chance."""

UNRECORDED: Final = "unrecorded"
"""Waits for a batch whose worker left no record."""

OTHER_LOADER: Final = "other_loader"
"""Waits for a batch of a DataLoader that is certainly none of the annotated ones."""


class WaitParts:
    """Collects the parts. What is added has to be disjoint from what was."""

    def __init__(self, tree: StageTree) -> None:
        self.tree = tree
        self.by_span_ns: Int64Array = np.zeros(len(tree.start_ns), dtype=np.int64)
        self._sets: dict[str, list[Intervals]] = {}
        self._wrapped: dict[str, list[Intervals]] = {}
        self._names = [path[-1].name for path in tree.paths]
        self._is_wait = np.array([path[-1].kind == "wait" for path in tree.paths], dtype=np.bool_)

    def add(self, name: str, time: Intervals) -> None:
        if len(time):
            self._sets.setdefault(name, []).append(time)

    def add_wrapper(self, label: str, time: Intervals) -> None:
        """Own code of an iterator that has no spans: what is left of its waits."""
        self.add(span_name("wrapper", label), time)
        if len(time):
            self._wrapped.setdefault(label, []).append(time)

    def wrapped(self) -> dict[str, Intervals]:
        """By the iterator's label, what `add_wrapper` was given."""
        return {label: Intervals.union_of(sets) for label, sets in sorted(self._wrapped.items())}

    def add_stages(self, track: int, waits: Intervals) -> Intervals:
        """Gives the waits to the deepest stages that this row of the trace was in at the time. What is left of them."""
        tree, mine = self.tree, self.tree.pieces_of_track(track)
        start, end, span = tree.piece_start[mine], tree.piece_end[mine], tree.piece_span[mine]
        inside = waits.overlap(start, end)
        rows = np.flatnonzero((inside > 0) & ~self._is_wait[tree.node[span]])
        np.add.at(self.by_span_ns, span[rows], inside[rows])
        parts = []
        for node, here in groups(tree.node[span], rows):
            parts.append(waits.intersect(Intervals.union(start[here], end[here])))
            self.add(self._names[node], parts[-1])
        return waits.minus(Intervals.union_of(parts))

    def add_shares(self, waits: Intervals, start: Int64Array, end: Int64Array, span: Int64Array) -> Intervals:
        """Gives ``[start[i], end[i])`` of the waits' own time (`Intervals.at_measure`) to that span, whenever it was.
        What is left of the waits.
        """
        np.add.at(self.by_span_ns, span, end - start)
        for node, here in groups(self.tree.node[span], np.flatnonzero(end > start)):
            self.add(self._names[node], waits.at_measure(start[here], end[here]))
        return waits.minus(waits.at_measure(start, end))

    def by_stage(self) -> dict[str, Intervals]:
        return {name: Intervals.union_of(sets) for name, sets in sorted(self._sets.items())}
