"""Time of a wait that goes to the stages which other threads were in meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.wait_parts import WaitParts
from tb_dataplugin.model.intervals import Int64Array, Intervals


@dataclass(frozen=True, slots=True)
class Held:
    """What some rows of the trace were in during each of some stretches: number of the stretch, span, and for how
    long; by stretch.
    """

    stretch: Int64Array
    span: Int64Array
    length: Int64Array

    @staticmethod
    def by(tree: StageTree, tracks: tuple[int, ...], start: Int64Array, end: Int64Array) -> Held:
        found = []
        for mine in map(tree.pieces_of_track, tracks):
            pieces = Intervals(tree.piece_start[mine], tree.piece_end[mine])
            stretch, piece = pieces.touching(start, end)
            length = np.minimum(pieces.end[piece], end[stretch]) - np.maximum(pieces.start[piece], start[stretch])
            found.append((stretch, tree.piece_span[mine][piece], length))
        stretch, span, length = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(stretch, kind="stable")
        return Held(stretch[order], span[order], length[order])

    def weighed(self, by_span: npt.NDArray[np.float64]) -> Held:
        """Of each length so much as its span's weight says."""
        return Held(self.stretch, self.span, np.rint(self.length * by_span[self.span]).astype(np.int64))

    def total(self, count: int) -> Int64Array:
        """Per stretch."""
        whole = np.zeros(count, dtype=np.int64)
        np.add.at(whole, self.stretch, self.length)
        return whole


def pass_on(way: Intervals, length: Int64Array, held: Held, parts: WaitParts) -> Intervals:
    """Gives the first `length` of each stretch of `way` to the spans that were held in it, by how long. What is left.

    A stretch without any such span keeps all its time.
    """
    whole = held.total(len(way))
    length = np.where(whole > 0, length, 0)
    if not (length > 0).any():
        return way
    time = Intervals(way.start, way.start + length)
    upto = np.cumsum(held.length)
    since = upto - held.length - (np.cumsum(whole) - whole)[held.stretch]
    factor = (length / np.maximum(whole, 1))[held.stretch]
    offset = (np.cumsum(length) - length)[held.stretch]
    first = offset + np.rint(since * factor).astype(np.int64)
    last = offset + np.rint((since + held.length) * factor).astype(np.int64)
    taken = Intervals.union(time.start[length > 0], time.end[length > 0])
    rest = parts.add_shares(taken, first, last, held.span)
    return Intervals.union_of((way.minus(taken), rest))
