"""Folders of repeated runs in the log directory."""

from __future__ import annotations

from collections.abc import Sequence

from tb_dataplugin.compare import Listed, RepeatedRuns, repeated_runs
from tb_dataplugin.tb.runs import Entry


def repeated_in(entries: Sequence[Entry]) -> tuple[list[Entry], tuple[RepeatedRuns, ...]]:
    """What can be read, and the folders of it, by its numbers there; none before all that is in them is analysed."""
    readable = [entry for entry in entries if entry.state != "error"]
    return readable, repeated_runs(tuple(Listed(one.run, one.trace.name, one.rank, one.marks) for one in readable))
