"""A stage around a wait (an iterator that packs a loader's batches) does no work then: the time is not its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.nesting import Nesting
from tb_dataplugin.model.trace import Trace


def without_inner_waits(nesting: Nesting, trace: Trace, start: Int64Array, end: Int64Array) -> Nesting:
    """Takes waits out of the pieces of the stages that enclose them. A wait keeps the waits inside it: they are one.

    `start`, `end`: of the spans that were nested.
    """
    inner, spans = trace.stage_spans.inner_waits, trace.stage_spans
    if not len(inner) or not len(nesting.piece_span):
        return nesting
    here = trace.events.track[spans.row] == (-1 if trace.training_track is None else trace.training_track)
    may_enclose = here & ~spans.is_kind("wait")
    pieces = np.flatnonzero(may_enclose[nesting.piece_span])
    piece, wait = inner.touching(nesting.piece_start[pieces], nesting.piece_end[pieces])
    span = nesting.piece_span[pieces[piece]]
    encloses = (start[span] <= inner.start[wait]) & (inner.end[wait] <= end[span])
    if not encloses.any():
        return nesting
    piece, wait = pieces[piece[encloses]], wait[encloses]
    taken = Intervals.union(
        np.maximum(nesting.piece_start[piece], inner.start[wait]), np.minimum(nesting.piece_end[piece], inner.end[wait])
    )
    return _cut(nesting, pieces, taken)


def _cut(nesting: Nesting, pieces: np.ndarray[tuple[int], np.dtype[np.intp]], taken: Intervals) -> Nesting:
    """Without the time `taken` in those pieces, which are of one thread."""
    start, end = nesting.piece_start, nesting.piece_end
    kept = taken.complement(Window(int(start[pieces].min()), int(end[pieces].max())))
    piece, part = kept.touching(start[pieces], end[pieces])
    piece = pieces[piece]
    others = np.delete(np.arange(len(start)), pieces)
    source = np.concatenate((others, piece))
    first = np.concatenate((start[others], np.maximum(start[piece], kept.start[part])))
    last = np.concatenate((end[others], np.minimum(end[piece], kept.end[part])))
    order = np.lexsort((first, source))  # the pieces stand by thread, then by time
    return replace(
        nesting, piece_start=first[order], piece_end=last[order], piece_span=nesting.piece_span[source[order]]
    )
