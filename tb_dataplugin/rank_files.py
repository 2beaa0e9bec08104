"""Which captures make up one run of ranks, and their tables. A bad one costs its own row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import DataPipelineError, InternalError, Refused, UnreadableTrace
from tb_dataplugin.model.trace import EARLIEST_UNIX_NS
from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.rank_folders import newest_first
from tb_dataplugin.ranks import RankTable
from tb_dataplugin.remote import Mirror, Source, fetched, named
from tb_dataplugin.units import plural

Row: TypeAlias = RankTable | Unavailable | UnreadableTrace | InternalError
"""What a capture comes to. One that cannot be read costs its own row."""

Read = Callable[[Sequence[Source]], Iterable[Row]]
"""In the order of the captures."""


@dataclass(frozen=True, slots=True)
class RankTables:
    """A table per rank. `notes`: what was left out. `errors`: captures that could not be read."""

    tables: tuple[RankTable, ...]
    notes: tuple[str, ...] = ()
    errors: tuple[UnreadableTrace | InternalError, ...] = ()


def row_of(source: Source, mirror: Mirror | None = None) -> Row:
    """Fetched into `mirror` where it is remote, and read."""
    try:
        trace = fetched(source, mirror)
        if trace.refused:
            raise Refused(trace.refused)
        return read_rank(trace.path, trace.id, trace.roots)
    except (UnreadableTrace, InternalError) as error:
        return error
    except (DataPipelineError, MemoryError):
        raise
    except Exception as error:
        return InternalError(f"analyse {named(source)}", error)


def read_here(sources: Sequence[Source]) -> Iterable[Row]:
    """One after the other."""
    return map(row_of, sources)


def tables_of_newest_run(sources: Iterable[Source], read: Read = read_here) -> RankTables:
    """Those of the newest trace's folder where it has several ranks; else of all folders: some write one per rank."""
    traces = newest_first(sources)
    same = [trace for trace in traces if trace.run == traces[0].run]
    if len(same) in (1, len(traces)):
        return newest_of_each(traces, read)
    found = newest_of_each(same, read)
    if len(found.tables) < 2:
        return newest_of_each(traces, read)
    others = plural(len(traces) - len(same), "capture")
    left_out = f"{others} of other folders left out: they are of other runs than the newest, {same[0].run}"
    return RankTables(found.tables, (*found.notes, left_out), found.errors)


def _began_ns(table: RankTable) -> int:
    """Its first step, in ns of Unix time; 0 where its trace does not say."""
    unix_ns = table.origin_unix_ns + int(table.step_start_ns[0]) if table.step_start_ns.size else 0
    return unix_ns if unix_ns > EARLIEST_UNIX_NS else 0


def newest_of_each(sources: Sequence[Source], read: Read = read_here) -> RankTables:
    """`sources`: the newest first, as far as that was known before they were read: their own clocks know better."""
    tables: dict[int, RankTable] = {}
    notes: list[str] = []
    errors: list[UnreadableTrace | InternalError] = []
    older = 0
    for source, row in zip(sources, read(sources), strict=True):
        if isinstance(row, UnreadableTrace | InternalError):
            errors.append(row)
        elif isinstance(row, Unavailable):
            notes.append(f"{named(source)} is left out: {row.message}")
        elif row.rank in tables:
            older += 1
            if 0 < _began_ns(tables[row.rank]) < _began_ns(row):
                tables[row.rank] = row
        else:
            tables[row.rank] = row
    if older:
        notes.append(f"of several captures of a rank the newest is taken; {older} older ones are left out")
    return RankTables(tuple(tables.values()), tuple(notes), tuple(errors))
