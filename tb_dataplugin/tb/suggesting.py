"""Which capture of the same program a capture suggests itself to be compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.compare import are_same_program
from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tb.runs import CaptureLibrary, Entry

MOST_READ: Final = 64
"""Reports looked into: one comes from memory, or in 20 ms from the cache."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An older capture, else a newer one; both None where none is known to be of the same program. `waiting`: some that
    would come first are not analysed yet.
    """

    before: str | None
    after: str | None
    waiting: bool


def suggest(library: CaptureLibrary, own: Entry, capture: Capture) -> Suggestion:
    """The newest older capture of another run, else of the same one, else the oldest newer one of another run, else of
    the same one; of several processes the one of the same rank. Other ranks of its own run are not before or after it.
    """
    others = [entry for entry in library.listing().entries if entry.id != own.id]  # newest first
    older = [entry for entry in others if entry.trace.taken_ns < own.trace.taken_ns]
    newer = [entry for entry in reversed(others) if entry.trace.taken_ns >= own.trace.taken_ns]
    before, waits = _nearest(library, older, own, capture)
    if before is not None or waits:
        return Suggestion(before, None, waits)
    after, waits = _nearest(library, newer, own, capture)
    return Suggestion(None, after, waits)


def _nearest(
    library: CaptureLibrary, entries: Sequence[Entry], own: Entry, capture: Capture
) -> tuple[str | None, bool]:
    """Its id, None where there is none; and whether some are not analysed yet."""
    ordered = sorted(entries, key=lambda entry: entry.run == own.run)  # within each still nearest first
    alike = list(_alike(library, ordered, own, capture))
    same_rank = [entry.id for entry, other in alike if other.rank == capture.rank]
    waiting = any(entry.state in ("queued", "loading") for entry in entries)
    return next(iter(same_rank), alike[0][0].id if alike else None), waiting


def _alike(
    library: CaptureLibrary, entries: Iterable[Entry], own: Entry, capture: Capture
) -> Iterator[tuple[Entry, Capture]]:
    """The captures of the same program, of one run only: the first that has any."""
    run: str | None = None
    ready = [entry for entry in entries if entry.state == "ready"]
    for entry in ready[:MOST_READ]:
        if run is not None and entry.run != run:
            return
        other = library.capture(entry.id)
        if not isinstance(other, Capture) or (entry.run == own.run and other.rank != capture.rank):
            continue
        if are_same_program(other, capture):
            run = entry.run
            yield entry, other
