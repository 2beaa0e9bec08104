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

MOST_RUNS: Final = 4
"""Runs of the program among which one that is not doubtful is looked for."""


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
    A run with doubtful captures only where none of the next few is sound.
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
    runs = list(_alike(library, ordered, own, capture))
    alike = next((run for run in runs if _is_sound(run)), runs[0] if runs else [])
    same_rank = [entry.id for entry, other in alike if other.rank == capture.rank]
    waiting = any(entry.state in ("queued", "loading") for entry in entries)
    return next(iter(same_rank), alike[0][0].id if alike else None), waiting


def _alike(
    library: CaptureLibrary, entries: Iterable[Entry], own: Entry, capture: Capture
) -> Iterator[list[tuple[Entry, Capture]]]:
    """The captures of the same program, run by run, up to the first run that is sound."""
    found: list[tuple[Entry, Capture]] = []
    runs = 0
    ready = [entry for entry in entries if entry.state == "ready"]
    for entry in ready[:MOST_READ]:
        if found and entry.run != found[0][0].run:
            yield found
            runs += 1
            if _is_sound(found) or runs == MOST_RUNS:
                return
            found = []
        other = library.capture(entry.id)
        if not isinstance(other, Capture) or (entry.run == own.run and other.rank != capture.rank):
            continue
        if are_same_program(other, capture):
            found.append((entry, other))
    if found:
        yield found


def _is_sound(run: Sequence[tuple[Entry, Capture]]) -> bool:
    """Nothing is certain beside a capture that is doubtful."""
    return not any(other.doubts for _, other in run)
