"""``tb-dataplugin verify``."""

from __future__ import annotations

import argparse
import sys
from typing import ClassVar

from tb_dataplugin.cli.inputs import HELP_CAPTURE, check_output, newest_trace, write_text
from tb_dataplugin.cli.tune import add_run_arguments, add_step_arguments, in_place, limits_of, program_of, progress
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.pipeline import open_found
from tb_dataplugin.remote import place
from tb_dataplugin.tune.training_step import step_from
from tb_dataplugin.tune.verified_text import as_json, as_text
from tb_dataplugin.tune.verifying import advised, find, verify


class VerifyCommand:
    """Measure whether one finding's advice helps: the setting that it names, beside those of the capture.

    Both run with the loader that MODULE:NAME makes, each in a separate process, in alternating windows; the training
    step only takes the time that the capture shows, without its waits for a CPU. Prints the measured gain beside the
    finding's bound.
    Advice that sets none of a DataLoader's settings is not measured: make the change, capture again, and run `compare`
    (exit status 1).
    """

    name: ClassVar[str] = "verify"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("of", type=place, metavar="CAPTURE", help=HELP_CAPTURE)
        add("--finding", required=True, metavar="K", help="its number in the report, from 1, or its rule")
        add("--target", required=True, metavar="MODULE:NAME", help="the DataLoader, or a function that returns one")
        add_step_arguments(parser)
        add_run_arguments(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        limits = limits_of(arguments, 2, 1)
        trace = newest_trace(arguments.of, arguments.follow_links)
        check_output(arguments.output, [trace.path])
        capture = open_found(trace).capture
        finding = find(capture, arguments.finding)
        advised(finding)  # before anything is run
        batches = step_from(trace).batches
        program = program_of(arguments, arguments.capture or trace.path)
        with in_place():
            verified = verify(program, capture, finding, batches, limits.pairs, progress)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        text = as_json(verified, program) if arguments.format == "json" else as_text(verified, program, style)
        write_text(text, arguments.output)
        return 0
