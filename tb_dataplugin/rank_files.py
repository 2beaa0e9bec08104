"""Which captures make up one run of ranks, and their tables. A bad one costs its own row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import DataPipelineError, InternalError, Refused, UnreadableTrace
from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.ranks import RankTable
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.units import plural


@dataclass(frozen=True, slots=True)
class RankTables:
    """A table per rank. `notes`: what was left out. `errors`: captures that could not be read."""

    tables: tuple[RankTable, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[UnreadableTrace | InternalError, ...] = ()


def tables_of_newest_run(traces: Iterable[TraceFile]) -> RankTables:
    """Those of the newest trace's folder where it has several ranks; else of all folders: some write one per rank."""
    newest_first = sorted(traces, key=lambda trace: (-trace.modified_ns, trace.id))
    same = [trace for trace in newest_first if trace.run == newest_first[0].run]
    if len(same) in (1, len(newest_first)):
        return newest_of_each(newest_first)
    found = newest_of_each(same)
    if len(found.tables) < 2:
        return newest_of_each(newest_first)
    others = plural(len(newest_first) - len(same), "capture")
    left_out = f"{others} of other folders left out: they are of other runs than the newest, {same[0].run}"
    return RankTables(found.tables, (*found.notes, left_out), found.errors)


def newest_of_each(traces: Iterable[TraceFile]) -> RankTables:
    """`traces`: the newest first."""
    tables: dict[int, RankTable] = {}
    notes: list[str] = []
    errors: list[UnreadableTrace | InternalError] = []
    older = 0
    for trace in traces:
        try:
            table = _read(trace)
        except (UnreadableTrace, InternalError) as error:
            errors.append(error)
            continue
        if isinstance(table, Unavailable):
            notes.append(f"{trace.path} is left out: {table.message}")
        elif table.rank in tables:
            older += 1
        else:
            tables[table.rank] = table
    if older:
        notes.append(f"of several captures of a rank the newest is taken; {older} older ones are left out")
    return RankTables(tuple(tables.values()), tuple(notes), tuple(errors))


def folders_of_ranks(captures: Sequence[tuple[TraceFile, int | None]]) -> list[list[TraceFile]]:
    """`captures`: each with its rank. The traces of each folder that has several ranks, the newest first."""
    folders: dict[str, list[tuple[TraceFile, int]]] = {}
    for trace, rank in captures:
        if rank is not None:
            folders.setdefault(trace.run, []).append((trace, rank))
    several = [known for _, known in sorted(folders.items()) if len({rank for _, rank in known}) > 1]
    return [
        sorted((trace for trace, _ in known), key=lambda trace: (-trace.modified_ns, trace.id)) for known in several
    ]


def _read(trace: TraceFile) -> RankTable | Unavailable:
    """Raises UnreadableTrace, or InternalError for an unforeseen exception."""
    if trace.refused:
        raise Refused(trace.refused)
    try:
        return read_rank(trace.path, trace.id, trace.roots)
    except (DataPipelineError, MemoryError):
        raise
    except Exception as error:
        raise InternalError(f"analyse {trace.path}", error) from error
