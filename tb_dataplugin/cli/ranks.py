"""``tb-dataplugin ranks``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.inputs import add_links_argument, check_output, expand, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.export.ranks_text import as_json, as_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.rank_files import tables_of_newest_run
from tb_dataplugin.ranks import summarise


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
        found = tables_of_newest_run(traces)
        for error in found.errors:
            complain(str(error))
        status = max((error.exit_status for error in found.errors), default=0)
        if not found.tables:
            if status:
                return status
            why = found.notes[0] if found.notes else ""
            raise NothingToReport(f"no captures of ranks below {arguments.paths[0]}: {why}")
        for note in found.notes:
            complain(note)
        run = summarise(str(arguments.paths[0]), found.tables)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        write_text(as_json(run) if arguments.format == "json" else as_text(run, style), arguments.output)
        return status
