"""``tb-dataplugin whatif``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import HELP_CAPTURE, add_links_argument, check_output, newest_trace, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.export.whatif_text import as_json, as_text
from tb_dataplugin.pipeline import loop_of
from tb_dataplugin.remote import place
from tb_dataplugin.report.brief import with_folder
from tb_dataplugin.whatif import Change, parse_changes, parse_workers, predict_all, usual_changes


class WhatIfCommand:
    """Predict what other settings, or a faster stage, would bring: from one capture, without running anything.

    The loop is simulated from the batches and steps of the capture, with the CPUs of its machine. Each prediction has
    a 90% interval. If no change is given, the usual ones are shown: other numbers of DataLoader workers, the settings
    that findings advise, and each long stage at half of its time.
    """

    name: ClassVar[str] = "whatif"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("capture", type=place, metavar="CAPTURE", help=HELP_CAPTURE)
        add("--workers", type=_numbers, metavar="N|A..B", help="DataLoader workers: 4, or 0..8, or 2,4,8")
        add("--prefetch", type=int, metavar="N", help="prefetch_factor: batches per DataLoader worker")
        help_stage = "a stage, or all stages of a kind, at this fraction of its time; may be repeated"
        add("--stage", action="append", default=[], metavar="NAME=0.1x", help=help_stage)
        help_cache = "stages of this kind (read, decode, transform, ...) whose results are cached; may be repeated"
        add("--cache", action="append", default=[], metavar="KIND", help=help_cache)
        add("--in-order", choices=("on", "off"), help="whether batches have to arrive in their order")
        add("--batch", type=int, metavar="N", help="samples of a batch; the step is between two ends")
        add("--pin", choices=("on",), help="pinned batches, where copies from pageable memory were recorded")
        help_move = "a stage that the device does, at best for nothing; may be repeated"
        add("--move", action="append", default=[], metavar="NAME=device", help=help_move)
        add_format_argument(parser, "json")
        add_links_argument(parser)
        add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        trace = newest_trace(arguments.capture, arguments.follow_links)
        check_output(arguments.output, [trace.path])
        changes = _changes(arguments)
        loop, doubts = loop_of(trace)
        if arguments.format == "json" or arguments.output is not None:
            for doubt in doubts:  # what is printed here as text has them
                complain(doubt)
        predictions = predict_all(loop, changes or usual_changes(loop))
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        name = with_folder(trace.id, str(trace.path))
        text = as_json(loop, predictions) if arguments.format == "json" else as_text(loop, predictions, name, style)
        write_text(text, arguments.output)
        return 0


def _changes(arguments: argparse.Namespace) -> list[Change]:
    """Those that are asked for; none where nothing is."""
    stages = [*arguments.stage, *(f"{kind}=0x" for kind in arguments.cache)]
    in_order = None if arguments.in_order is None else arguments.in_order == "on"
    changes = parse_changes(
        arguments.workers or [None],
        arguments.prefetch,
        in_order,
        stages,
        batch=arguments.batch,
        pin=True if arguments.pin else None,
        moves=arguments.move,
    )
    return [] if changes == [Change()] else changes


def _numbers(text: str) -> list[int]:
    try:
        return parse_workers(text)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(str(error)) from None
