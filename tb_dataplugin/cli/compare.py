"""``tb-dataplugin compare``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cache import Store
from tb_dataplugin.cli.inputs import (
    add_cache_argument,
    add_links_argument,
    analyse_all,
    check_output,
    complain,
    expand,
    is_folder,
    open_one,
    stores_for,
    write_text,
)
from tb_dataplugin.compare import compare
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.report.report_pb2 import Capture, Comparison
from tb_dataplugin.units import magnitude

TOO_SLOW = 1


class CompareCommand:
    """Compare two runs: faster, slower, or no significant difference; which stage, which setting.

    BEFORE and AFTER are a trace file, or a folder with traces. Captures of several runs on one side show how much equal
    runs differ: with a single one on each side only large differences are significant.

    Exit status: 0 fine; 1 with --fail-if-slower, when AFTER is significantly slower by more than allowed (one line on
    stderr says so), or a folder has no traces; 2 bad usage or unreadable input.
    """

    name: ClassVar[str] = "compare"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        for side in ("before", "after"):
            help_side = "a trace file, or a folder with the traces of one or more runs"
            parser.add_argument(side, type=Path, metavar=side.upper(), help=help_side)
        parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
        add_cache_argument(parser)
        add_links_argument(parser)
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of to the terminal")
        help_limit = "exit with status 1 when AFTER takes longer per sample by more than this, and significantly"
        parser.add_argument("--fail-if-slower", type=_share, metavar="5%", help=help_limit.replace("%", "%%"))

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        stores = stores_for(arguments)
        follow = arguments.follow_links
        before, after = (_side(path, stores, follow) for path in (arguments.before, arguments.after))
        for captures in (before, after):
            check_output(arguments.output, [Path(capture.file) for capture in captures])
        comparison = compare(before, after)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        text = as_json(comparison, indent=2) if arguments.format == "json" else compare_text(comparison, style)
        write_text(text, arguments.output)
        return 0 if arguments.fail_if_slower is None else _judge(comparison, arguments.fail_if_slower)


def _share(text: str) -> float:
    """``"5%" -> 0.05``."""
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not text.endswith("%") or not 0 <= value < 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage; write it like 5%")
    return value


def _side(path: Path, stores: Sequence[Store], follow_links: bool) -> list[Capture]:
    """Raises UnreadableTrace when not one of its traces can be read; each that cannot costs a line."""
    if not is_folder(path):
        return [open_one(trace, stores).capture for trace in expand([path])]
    captures, _ = analyse_all(expand([path], follow_links), stores)
    if not captures:
        raise UnreadableTrace(path, "none of its traces can be read", "name another trace or folder")
    return captures


def _judge(comparison: Comparison, allowed: float) -> int:
    limit, time = magnitude(allowed), comparison.time
    if comparison.outcome == "slower" and time.change > allowed:
        complain(f"slower by {magnitude(time.change)} per {comparison.unit}, more than the {limit} allowed")
        return TOO_SLOW
    if comparison.outcome == "unknown":
        complain(f"--fail-if-slower {limit} is inconclusive: {comparison.sentence}")
    elif time.detectable > allowed:
        complain(
            f"slower by {limit} could pass unnoticed: the smallest detectable change of these captures is "
            f"{magnitude(time.detectable)}; give captures of more runs on each side, or longer ones"
        )
    return 0
