"""``tb-dataplugin report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.errors import BadRequest, NothingToReport, UnreadableTrace
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.pipeline import analyse_file, as_report
from tb_dataplugin.reader.discovery import TraceFile, describe, find_traces
from tb_dataplugin.report.report_pb2 import Capture, Report


class ReportCommand:
    """Report on trace files, or on all traces below folders: the tab's numbers, without TensorBoard."""

    name: ClassVar[str] = "report"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        help_paths = "folders to search, or trace files"
        parser.add_argument("paths", nargs="+", type=Path, metavar="LOGDIR|TRACE", help=help_paths)
        parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of to the terminal")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        captures, status = _analyse(_expand(arguments.paths))
        if captures:
            _write(as_report(captures), arguments.format, arguments.output)
        return status


def _expand(paths: Iterable[Path]) -> Iterator[TraceFile]:
    """Files as they are, folders as the traces below them by name. Raises NothingToReport for a folder without any."""
    for path in paths:
        if not path.is_dir():
            yield TraceFile(path, ".", path.name, 0, 0) if not path.exists() else describe(path, ".")
            continue
        found = sorted(find_traces(path, _complain), key=lambda trace: trace.id)
        if not found:
            raise NothingToReport(
                f"no traces (*.pt.trace.json, *.pt.trace.json.gz) below {path}: "
                "capture one with annotate.profile, or name a trace file"
            )
        yield from found


def _analyse(traces: Iterable[TraceFile]) -> tuple[list[Capture], int]:
    """Captures of all traces that can be read; a bad one costs a line and the exit status, never the others."""
    captures, status = [], 0
    for trace in traces:
        try:
            captures.append(analyse_file(trace.path, trace.id).capture)
        except UnreadableTrace as error:
            _complain(str(error))
            status = error.exit_status
    return captures, status


def _complain(message: str) -> None:
    print(f"tb-dataplugin: {message}", file=sys.stderr)


def _write(report: Report, form: str, output: Path | None) -> None:
    style = style_for(sys.stdout) if output is None else PLAIN
    text = as_json(report, indent=2) if form == "json" else as_text(report, style)
    if output is None:
        print(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        remedy = "name a file in a folder that can be written"
        raise BadRequest(f"cannot write {output}: {error.strerror}; {remedy}") from None
