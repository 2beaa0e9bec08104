"""``tb-dataplugin compare``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from tb_dataplugin.cache import Store
from tb_dataplugin.cli.analysing import analyse_all
from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import (
    add_cache_argument,
    add_links_argument,
    check_output,
    expand,
    is_folder,
    stores_for,
    write_text,
)
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit, share_of
from tb_dataplugin.errors import BadRequest, NothingToReport, UnreadableTrace
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.compare_markdown import compare_markdown
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.pipeline import open_found
from tb_dataplugin.remote import Place, place
from tb_dataplugin.report.report_pb2 import Capture, Comparison

FINE, TOO_SLOW, INCONCLUSIVE = 0, 1, 4


class CompareCommand:
    """Compare two runs: what is faster or slower, by how much, and how sure that is.

    BEFORE and AFTER are trace files, or folders with traces. Captures of several runs on one side show how much equal
    runs differ; with one run on each side that is assumed, and the total is known to about 15% at best.

    With --fail-if-slower LIMIT, AFTER is too slow when it is significantly slower and its time grew by more than LIMIT,
    and fast enough when even the upper end of the 95% interval is within LIMIT. Anything else is inconclusive.

    Exit status: 0 fine; 1 slower than allowed; 2 bad usage, unreadable input, no traces; 3 internal error;
    4 inconclusive (--inconclusive pass|fail makes it 0 or 1). Without --fail-if-slower nothing is judged: 0.
    """

    name: ClassVar[str] = "compare"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        for side in ("before", "after"):
            help_side = "a trace file, or a folder with the traces of one or more runs"
            parser.add_argument(side, type=place, metavar=side.upper(), help=help_side)
        add_format_argument(parser, "json", "markdown", note="markdown is for a CI job's summary")
        help_anyway = "show the numbers of sides that are not comparable (a replay beside a run, different programs)"
        parser.add_argument("--anyway", action="store_true", help=help_anyway)
        add_cache_argument(parser)
        add_links_argument(parser)
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of to the terminal")
        help_limit = (
            "exit with 1 when AFTER takes longer per sample or step by more than this, with 4 when inconclusive"
        )
        parser.add_argument("--fail-if-slower", type=_share, metavar="5%", help=help_limit.replace("%", "%%"))
        help_inconclusive = "with --fail-if-slower: exit with 0 (pass) or 1 (fail) instead of 4"
        parser.add_argument("--inconclusive", choices=tuple(_INSTEAD), help=help_inconclusive)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        if arguments.inconclusive and arguments.fail_if_slower is None:
            raise BadRequest("--inconclusive needs a limit to judge by: add --fail-if-slower 5%")
        stores = stores_for(arguments)
        follow = arguments.follow_links
        sides = [_side(path, stores, follow) for path in (arguments.before, arguments.after)]
        unread = max(status for _, status in sides)
        if not all(captures for captures, _ in sides):
            return unread
        for captures, _ in sides:
            check_output(arguments.output, [Path(capture.file) for capture in captures])
        comparison = compare(*(captures for captures, _ in sides))
        status, answer = _judge(comparison, arguments)
        text = _as_text(comparison, arguments)
        write_text(f"{text}\n  {answer}" if answer and arguments.format == "text" else text, arguments.output)
        return unread or status


def _as_text(comparison: Comparison, arguments: argparse.Namespace) -> str:
    if arguments.format == "json":
        return as_json(comparison, indent=2)
    if arguments.format == "markdown":
        return compare_markdown(comparison, arguments.anyway)
    style = style_for(sys.stdout) if arguments.output is None else PLAIN
    return compare_text(comparison, style, arguments.anyway)


_INSTEAD: Final = {"pass": FINE, "fail": TOO_SLOW}


def _share(text: str) -> float:
    """``"5%" -> 0.05``."""
    try:
        return share_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _side(path: Place, stores: Sequence[Store], follow_links: bool) -> tuple[list[Capture], int]:
    """Its captures; what cannot be read costs a line and the exit status. Raises an error where nothing can be."""
    try:
        traces = list(expand([path], follow_links))
    except NothingToReport as error:  # there are no captures to compare: not what was asked for
        raise BadRequest(str(error)) from None
    if not is_folder(path):
        return [open_found(trace, stores=stores).capture for trace in traces], FINE
    captures, status = analyse_all(traces, stores)
    if not captures:
        complain(str(UnreadableTrace(str(path), "none of its traces can be read", "name another trace or folder")))
    return captures, status


def _judge(comparison: Comparison, arguments: argparse.Namespace) -> tuple[int, str]:
    """The exit status, and the answer where it is "fine"; a line on stderr says why, where it is not."""
    if arguments.fail_if_slower is None:
        return FINE, ""
    judged = judge_limit(comparison, arguments.fail_if_slower)
    if judged.outcome == "fine":
        return FINE, judged.sentence
    is_open = judged.outcome == "inconclusive" and arguments.inconclusive is None
    status = f"Exit status {INCONCLUSIVE} (inconclusive); `--inconclusive pass|fail` makes it {FINE} or {TOO_SLOW}"
    complain(f"{judged.sentence.removesuffix('.')}. {status}" if is_open else judged.sentence)
    return (TOO_SLOW if judged.outcome == "slower" else _INSTEAD.get(arguments.inconclusive, INCONCLUSIVE)), ""
