"""Which older capture of the same program a capture suggests itself to be compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.compare import are_same_program
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tb.runs import CaptureLibrary, Entry

MOST_READ: Final = 64
"""Reports looked into: one comes from memory, or in 20 ms from the cache."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """`id` is None where no capture is known to be of the same program. `waiting`: some are not analysed yet."""

    id: str | None
    waiting: bool


def suggest_before(library: CaptureLibrary, after: Entry, capture: Capture) -> Suggestion:
    """The newest older capture of another run, else of the same one; of several processes the one of the same rank."""
    older = [entry for entry in library.listing().entries if _is_older(entry, after)]
    ordered = sorted(older, key=lambda entry: entry.run == after.run)  # within each still newest first
    alike = list(_alike(library, ordered, capture))
    same_rank = [entry.id for entry, other in alike if other.rank == capture.rank]
    chosen = next(iter(same_rank), alike[0][0].id if alike else None)
    return Suggestion(chosen, waiting=any(entry.state in ("queued", "loading") for entry in older))


def _is_older(entry: Entry, after: Entry) -> bool:
    return entry.id != after.id and entry.trace.taken_ns < after.trace.taken_ns


def _alike(library: CaptureLibrary, entries: Iterable[Entry], capture: Capture) -> Iterator[tuple[Entry, Capture]]:
    """The captures of the same program, of one run only: the first that has any."""
    run: str | None = None
    ready = [entry for entry in entries if entry.state == "ready"]
    for entry in ready[:MOST_READ]:
        if run is not None and entry.run != run:
            return
        other = library.capture(entry.id)
        if isinstance(other, Capture) and are_same_program(other, capture):
            run = entry.run
            yield entry, other
