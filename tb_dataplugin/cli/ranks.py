"""``tb-dataplugin ranks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.analysing import add_engine_arguments, each, engine_of, row_at
from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import add_links_argument, check_output, found, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import DataPipelineError, InternalError, NothingToReport, UnreadableTrace
from tb_dataplugin.export.ranks_text import as_json, as_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.many import Engine
from tb_dataplugin.rank_files import RankTables, Row, tables_of_newest_run
from tb_dataplugin.ranks import summarise
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.remote import Source, place, user_mirror


class RanksCommand:
    """Show which rank holds up the others, and why: from one capture of each rank, of the same steps.

    Ranks that wait in a collective lose time to the rank that joins it last. That time is passed on to what kept the
    last rank: a stage of its loader, its host, or computing. Clocks of different hosts are aligned by the collectives
    themselves. Of several runs, and of several captures of a rank, the newest is taken.
    """

    name: ClassVar[str] = "ranks"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "paths",
            nargs="+",
            type=place,
            metavar="RUN",
            help="the folder with the captures of all ranks, or the traces; also URLs",
        )
        add_format_argument(parser, "json")
        add_engine_arguments(parser)
        add_links_argument(parser)
        add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        joined = _tables(arguments)
        for error in joined.errors:
            complain(str(error))
        status = max((error.exit_status for error in joined.errors), default=0)
        if not joined.tables:
            if status:
                return status
            why = joined.notes[0] if joined.notes else ""
            raise NothingToReport(f"no captures of ranks below {arguments.paths[0]}: {why}")
        for note in joined.notes:
            complain(note)
        run = summarise(str(arguments.paths[0]), joined.tables)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        write_text(as_json(run) if arguments.format == "json" else as_text(run, style), arguments.output)
        return status


def _tables(arguments: argparse.Namespace) -> RankTables:
    with engine_of(arguments) as engine:
        sources = list(found(arguments.paths, arguments.follow_links))
        check_output(arguments.output, [one.path for one in sources if isinstance(one, TraceFile)])
        return tables_of_newest_run(sources, partial(_rows, engine=engine))


def _rows(sources: Sequence[Source], engine: Engine | None) -> Iterable[Row]:
    is_here = engine is None or engine.is_here
    work = partial(row_at, mirror=user_mirror() if is_here else None, is_here=is_here)
    return each(sources, work, engine, _failed)


def _failed(error: DataPipelineError) -> Row:
    """Raises what is not about one trace."""
    if isinstance(error, UnreadableTrace | InternalError):
        return error
    raise error
