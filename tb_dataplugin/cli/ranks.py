"""``tb-dataplugin ranks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.inputs import add_links_argument, check_output, expand, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import DataPipelineError, InternalError, NothingToReport, Refused, UnreadableTrace
from tb_dataplugin.export.ranks_text import as_json, as_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.pipeline import read_rank
from tb_dataplugin.ranks import RankTable, summarise
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.units import plural


class RanksCommand:
    """Show which rank holds up the others, and why: from one capture of each rank, of the same steps.

    Who waits in a collective loses time to the rank that joins it last. That time is passed on to what kept the last
    rank: a stage of its loader, its host, or computing. Clocks of different hosts are aligned by the collectives
    themselves. Of several runs, and of several captures of a rank, the newest is taken.
    """

    name: ClassVar[str] = "ranks"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "paths",
            nargs="+",
            type=Path,
            metavar="RUN",
            help="the folder with the captures of all ranks, or the traces",
        )
        add("--format", choices=("text", "json"), default="text", help="default: text")
        add_links_argument(parser)
        add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        traces = list(expand(arguments.paths, arguments.follow_links))
        check_output(arguments.output, [trace.path for trace in traces])
        tables, notes, status = _of_one_run(sorted(traces, key=lambda trace: (-trace.modified_ns, trace.id)))
        if not tables:
            if status:
                return status
            raise NothingToReport(f"no captures of ranks below {arguments.paths[0]}: {notes[0] if notes else ''}")
        for note in notes:
            complain(note)
        run = summarise(str(arguments.paths[0]), tables)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        write_text(as_json(run) if arguments.format == "json" else as_text(run, style), arguments.output)
        return status


def _of_one_run(traces: Sequence[TraceFile]) -> tuple[list[RankTable], list[str], int]:
    """Those of the newest trace's folder where it has several ranks; else of all folders: some write one per rank."""
    same = [trace for trace in traces if trace.run == traces[0].run]
    if len(same) in (1, len(traces)):
        return _newest_of_each(traces)
    tables, notes, status = _newest_of_each(same)
    if len(tables) < 2:
        return _newest_of_each(traces)
    others = plural(len(traces) - len(same), "capture")
    notes.append(f"{others} of other folders left out: they are of other runs than the newest, {traces[0].run}")
    return tables, notes, status


def _newest_of_each(traces: Iterable[TraceFile]) -> tuple[list[RankTable], list[str], int]:
    """A table per rank, what was left out, and the exit status. `traces`: the newest first."""
    tables: dict[int, RankTable] = {}
    notes, status, older = [], 0, 0
    for trace in traces:
        try:
            table = _read(trace)
        except (UnreadableTrace, InternalError) as error:
            complain(str(error))
            status = max(status, error.exit_status)
            continue
        if isinstance(table, Unavailable):
            notes.append(f"{trace.path} is left out: {table.message}")
        elif table.rank in tables:
            older += 1
        else:
            tables[table.rank] = table
    if older:
        notes.append(f"of several captures of a rank the newest is taken; {older} older ones are left out")
    return list(tables.values()), notes, status


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
