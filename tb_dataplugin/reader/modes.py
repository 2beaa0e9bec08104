"""What a trace says of itself before its events: the events are not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from annotate.trace_format import METADATA_KEY
from tb_dataplugin.diagnostics import DiagnosticsCollector
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader import source
from tb_dataplugin.reader.chrome import ChromeReader
from tb_dataplugin.reader.discovery import TraceFile

NOTHING_TRAINED: Final = "which have no training steps; name the capture of a run"


def first_of_training(traces: Iterable[TraceFile]) -> TraceFile | None:
    """The first that is no replay, None where all of them are."""
    return next((trace for trace in traces if not _is_replay(trace)), None)


def _is_replay(trace: TraceFile) -> bool:
    """False where it cannot be read: whoever reads it says why. Our record stands before the events."""
    if trace.refused:
        return False
    reader = ChromeReader(
        source.blocks(trace.path, DiagnosticsCollector(), trace.roots), trace.path, DiagnosticsCollector()
    )
    try:
        next(reader.windows(), None)
    except UnreadableTrace:
        return False
    record = reader.member(METADATA_KEY)
    return isinstance(record, dict) and record.get("mode") == "replay"
