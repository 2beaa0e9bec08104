"""``tb-dataplugin export``."""

from __future__ import annotations

import argparse
from typing import ClassVar

from tb_dataplugin.cli.analysing import open_paths
from tb_dataplugin.cli.inputs import add_output_arguments, add_path_arguments, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import NothingToReport
from tb_dataplugin.export.as_stacks import as_collapsed, as_speedscope, parts_of
from tb_dataplugin.options import AnalysisOptions
from tb_dataplugin.pipeline import as_report


class ExportCommand:
    """Write the sampled stacks for another viewer: speedscope, or anything that reads collapsed stacks."""

    name: ClassVar[str] = "export"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add_path_arguments(parser, "folders, or trace files")
        help_format = "default: speedscope, in time order; collapsed: one line per stack, for flamegraph.pl"
        parser.add_argument("--format", choices=("speedscope", "collapsed"), default="speedscope", help=help_format)
        add_output_arguments(parser, "write to FILE instead of the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        kept, _, status = open_paths(arguments, AnalysisOptions(whole_stacks=True))
        if kept:
            report = as_report([capture.capture for capture in kept])
            if not any(True for capture in report.captures for _ in parts_of(capture)):
                named = ", ".join(map(str, arguments.paths))
                raise NothingToReport(
                    f"no sampled stacks to export in {named}: capture with annotate.profile(..., lines=True), "
                    "and more steps"
                )
            write = as_collapsed if arguments.format == "collapsed" else as_speedscope
            write_text(write(report), arguments.output)
            if arguments.output is not None:
                complain(f"wrote {arguments.output}")
        return status
