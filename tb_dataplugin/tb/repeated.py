"""Folders of repeated runs in the log directory, and other sides of several captures."""

from __future__ import annotations

from collections.abc import Sequence

from tb_dataplugin.compare import Listed, RepeatedRuns, mixed_runs, repeated_runs, sides_of_several
from tb_dataplugin.tb.runs import Entry


def repeated_in(entries: Sequence[Entry]) -> list[tuple[RepeatedRuns, tuple[str, ...]]]:
    """With the ids of their captures; none before all that is in them is analysed."""
    readable = _readable(entries)
    return [(found, _ids(readable, found.numbers)) for found in repeated_runs(_listed(readable))]


def mixed_in(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Runs whose captures are no side together, as far as they are analysed."""
    return mixed_runs(_listed(_readable(entries)))


def several_in(entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """By place, the ids of captures that are one side of a comparison."""
    readable = _readable(entries)
    return {place: _ids(readable, numbers) for place, numbers in sides_of_several(_listed(readable)).items()}


def _readable(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.state != "error"]


def _listed(entries: Sequence[Entry]) -> tuple[Listed, ...]:
    return tuple(Listed(one.run, one.trace.name, one.rank, one.marks) for one in entries)


def _ids(entries: Sequence[Entry], numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(entries[number].id for number in numbers)
