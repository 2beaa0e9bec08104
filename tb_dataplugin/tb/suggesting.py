"""What the tab proposes to compare a capture with, among all that the log directory holds."""

from __future__ import annotations

from typing import Final, Literal

from tb_dataplugin.compare.suggesting import Candidate, Suggestion, suggest
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tb.runs import CaptureLibrary, Entry

_STATES: Final[dict[str, Literal["ready", "waiting"]]] = {"ready": "ready", "queued": "waiting", "loading": "waiting"}


def suggestion_for(library: CaptureLibrary, own: Entry, capture: Capture) -> Suggestion:
    """`capture`: the report of `own`."""
    candidates = (_candidate(library, entry) for entry in library.listing().entries)
    return suggest(candidates, _candidate(library, own), capture)


def _candidate(library: CaptureLibrary, entry: Entry) -> Candidate:
    def read() -> Capture | None:
        found = library.capture(entry.id)
        return found if isinstance(found, Capture) else None

    return Candidate(entry.id, entry.run, entry.trace.taken_ns, read, _STATES.get(entry.state, "unreadable"))
