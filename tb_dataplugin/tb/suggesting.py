"""What the tab proposes to compare a capture with, among all that the log directory holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from tb_dataplugin.compare import RepeatedRuns, place_of
from tb_dataplugin.compare.suggesting import Candidate, Suggestion, suggest
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tb.repeated import repeated_in, several_in
from tb_dataplugin.tb.runs import CaptureLibrary, Entry

_STATES: Final[dict[str, Literal["ready", "waiting"]]] = {"ready": "ready", "queued": "waiting", "loading": "waiting"}


def suggestion_for(library: CaptureLibrary, own: Entry, capture: Capture) -> Suggestion:
    """`capture`: the report of `own`."""
    entries = library.listing().entries
    if _are_unknown_beside(own.run, entries):
        return Suggestion(waiting=True)
    repeated = [found for found, _ in repeated_in(entries)]
    candidates = (_candidate(library, entry, repeated) for entry in entries)
    return suggest(candidates, _candidate(library, own, repeated), capture, several_in(entries))


def _are_unknown_beside(run: str, entries: Sequence[Entry]) -> bool:
    """Some in its parent folder are not analysed yet: whether these are repeated runs is not known."""
    folder, is_inside, _ = run.rpartition("/")
    beside = (entry for entry in entries if is_inside and entry.run.startswith(f"{folder}/"))
    return any(_STATES.get(entry.state) == "waiting" for entry in beside)


def _candidate(library: CaptureLibrary, entry: Entry, repeated: Sequence[RepeatedRuns]) -> Candidate:
    def read() -> Capture | None:
        found = library.capture(entry.id)
        return found if isinstance(found, Capture) else None

    place = place_of(entry.run, repeated)
    return Candidate(entry.id, entry.run, place, entry.taken.unix_ns, read, _STATES.get(entry.state, "unreadable"))
