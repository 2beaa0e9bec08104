"""Keeps the structure of a trace within `limits`: no analysis meets more threads, devices or levels than that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tb_dataplugin import limits
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.model.beside_events import StageSpans
from tb_dataplugin.model.events import DEVICE_ACTIVITY, Category, EventTable
from tb_dataplugin.model.nesting import most_open, nest_by_track
from tb_dataplugin.model.trace import Track
from tb_dataplugin.reader.categories import selector

_IS_DEVICE = selector((*DEVICE_ACTIVITY, Category.DEVICE_ANNOTATION, Category.DEVICE_SYNC))
_IS_HOST = selector((Category.CPU_OP, Category.USER_ANNOTATION, Category.RUNTIME, Category.OVERHEAD))

OTHER_STREAMS = Track("", "others", "", "other streams")


def bound_events(
    events: EventTable, tracks: tuple[Track, ...], diagnostics: DiagnosticsCollector
) -> tuple[EventTable, tuple[Track, ...]]:
    """The same rows; those of too many devices and threads become events that no analysis looks at."""
    _leave_out(events, events.device, _IS_DEVICE, limits.MOST_DEVICES, diagnostics, "devices")
    _leave_out(events, events.track, _IS_HOST, limits.MOST_THREADS, diagnostics, "threads")
    return _share_rows(events, tracks, diagnostics)


def _leave_out(
    events: EventTable,
    key: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.bool_],
    most: int,
    diagnostics: DiagnosticsCollector,
    what: str,
) -> None:
    """Keep the `most` keys that have the most events of these kinds."""
    rows = np.flatnonzero(kinds[events.category])
    keys, place, count = np.unique(key[rows], return_inverse=True, return_counts=True)
    if len(keys) <= most:
        return
    kept = np.zeros(len(keys), dtype=np.bool_)
    kept[np.argsort(-count, kind="stable")[:most]] = True
    events.category[rows[~kept[place]]] = Category.OTHER
    message = (
        f"The trace has {len(keys):,} {what}; only the {most:,} with the most events are in this report. "
        "Is it a trace of one process?"
    )
    limits.over(diagnostics, what, len(keys) - most, message)


def _share_rows(
    events: EventTable, tracks: tuple[Track, ...], diagnostics: DiagnosticsCollector
) -> tuple[EventTable, tuple[Track, ...]]:
    """Streams beyond those of a device with the most events share one row."""
    rows = np.flatnonzero(_IS_DEVICE[events.category])
    pairs = np.stack((events.device[rows], events.track[rows])) if len(rows) else np.zeros((2, 0), dtype=np.int32)
    streams, place, count = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    if streams.shape[1] <= limits.MOST_STREAMS:
        return events, tracks
    order = np.lexsort((-count, streams[0]))
    device = streams[0][order]
    rank = np.arange(len(order)) - np.searchsorted(device, device)
    excess = np.zeros(len(order), dtype=np.bool_)
    excess[order] = rank >= limits.MOST_STREAMS
    if not excess.any():
        return events, tracks
    events.track[rows[excess[place.ravel()]]] = len(tracks)
    message = f"A device has more than {limits.MOST_STREAMS} streams; the others share one row of the timeline"
    limits.over(diagnostics, "streams", int(excess.sum()), message)
    return events, (*tracks, OTHER_STREAMS)


def bound_depth(events: EventTable, spans: StageSpans, diagnostics: DiagnosticsCollector) -> StageSpans:
    """Without the stage spans below the deepest level that is looked at; their time is that of the stage around."""
    start, end, track = events.start_ns[spans.row], events.end_ns[spans.row], events.track[spans.row]
    if most_open(start, end, track) <= limits.MOST_DEPTH:
        return spans
    keep = nest_by_track(start, end, track).depth < limits.MOST_DEPTH
    message = f"Stage spans nested more than {limits.MOST_DEPTH} deep count as part of the stage around them"
    limits.over(diagnostics, "depth", int(np.count_nonzero(~keep)), message)
    return replace(spans, row=spans.row[keep], stage=spans.stage[keep])
