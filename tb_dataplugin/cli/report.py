"""``tb-dataplugin report``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from tb_dataplugin.cli.analysing import Opened, add_engine_arguments, open_paths
from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import (
    add_output_arguments,
    add_path_arguments,
    add_steps_argument,
    options_of,
    write_text,
)
from tb_dataplugin.cli.run_files import paths_of_traces, run_files
from tb_dataplugin.cli.several import Folders
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.compare import marks_of
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest, DataPipelineError, NothingToReport, UnreadableTrace
from tb_dataplugin.export.as_html import MAX_BYTES, as_html, without_comparison, without_timeline
from tb_dataplugin.export.as_json import as_json
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.export.comparisons import run_of
from tb_dataplugin.export.report_markdown import report_markdown
from tb_dataplugin.export.run_text import runs_text
from tb_dataplugin.export.runs_summary import runs_summary
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.export.whatif_text import as_json as loop_as_json
from tb_dataplugin.pipeline import KeptCapture, as_report, read_loop, timeline_of
from tb_dataplugin.rank_files import newest_of_each, row_of
from tb_dataplugin.rank_folders import ListedRank, runs_of_ranks
from tb_dataplugin.ranks import RankTable, summarise
from tb_dataplugin.remote import Source, Url
from tb_dataplugin.report.build_ranks import ranks_report, unknown_ranks
from tb_dataplugin.report.build_whole_run import whole_runs_report
from tb_dataplugin.report.report_pb2 import Capture, Ranks, Report
from tb_dataplugin.report.rows import row_of as listed_row
from tb_dataplugin.shown import encodable, shown
from tb_dataplugin.units import data_size, plural
from tb_dataplugin.watchfile.reading import Run, read_runs
from tb_dataplugin.whatif import predict_all, telling_changes

NamedRun = tuple[Run, str]
"""A whole run, and its folder as captures in it have it."""

PAGE: Final = "tb-dataplugin-report"

PREDICTED: Final = 8
"""Captures of a page that carry predictions: for each the trace is read once more."""


class ReportCommand:
    """Report on trace files, or on all traces below folders: the tab's numbers, without TensorBoard."""

    name: ClassVar[str] = "report"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add_path_arguments(parser, "folders to search, or trace files")
        note = "html is the tab's page as one self-contained file; markdown for a CI job's summary"
        add_format_argument(parser, "json", "html", "markdown", note=note)
        add_steps_argument(parser)
        add_engine_arguments(parser)
        help_summary = "a row for each capture and each whole run, worst first, and nothing else (text)"
        parser.add_argument("--summary", action="store_true", help=help_summary)
        help_output = f"write to FILE instead of the terminal (html: {PAGE}.html in place of a terminal)"
        add_output_arguments(parser, help_output)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        if arguments.on is not None and arguments.format == "html":
            raise BadRequest("--on gives no html: its timelines are as large as traces; use json, markdown or text")
        if arguments.summary and arguments.format != "text":
            raise BadRequest(f"--summary is text only; leave out --summary, or --format {arguments.format}")
        runs, status = _runs(arguments)
        opened = _captures(arguments, [run.folder for run, _ in runs])
        if opened.captures or runs:
            _write(opened, runs, arguments)
        return max(status, opened.status)


def _captures(arguments: argparse.Namespace, run_folders: list[Path]) -> Opened:
    """Raises NothingToReport where there are neither captures nor whole runs."""
    paths = paths_of_traces(arguments.paths, run_folders)
    if not paths:
        return Opened([], [], 0)
    of_captures = argparse.Namespace(**{**vars(arguments), "paths": paths})
    try:
        with_rank = arguments.format in ("json", "markdown")
        return open_paths(of_captures, options_of(arguments), with_rank)
    except NothingToReport:
        if not any(isinstance(path, Url) for path in paths) or not run_folders:
            raise
        return Opened([], [], 0)


def _runs(arguments: argparse.Namespace) -> tuple[list[NamedRun], int]:
    """The whole runs in the paths; a file that cannot be read costs a line and the exit status."""
    errors: list[UnreadableTrace] = []
    # A file that is named beside its folder is one.
    files = list({os.path.realpath(file.path): file for file in run_files(arguments, errors.append)}.values())
    runs, unreadable = read_runs(files)
    errors += unreadable
    for error in errors:
        complain(str(error))
    names = {file.path.parent: file.run for file in files}
    return [(run, names[run.folder]) for run in runs], max((error.exit_status for error in errors), default=0)


def _ranks(kept: list[KeptCapture], captures: Sequence[Capture]) -> list[Ranks]:
    """Of runs with captures of several ranks; traces that were not read for that yet are read once more."""
    listed = (
        ListedRank(one.trace, run_of(capture), listed_row(capture), marks_of(capture).SerializeToString())
        for one, capture in zip(kept, captures, strict=True)
        if one.trace is not None
    )
    known: dict[Source, RankTable | Unavailable | None] = {one.trace: one.rank for one in kept if one.trace is not None}
    found = []
    for run in runs_of_ranks(listed):
        tables = newest_of_each(run.sources, lambda these: (known.get(this) or row_of(this) for this in these))
        for error in tables.errors:
            complain(str(error))
        if tables.tables:
            found.append(ranks_report(summarise(run.name, tables.tables, tables.notes)))
        else:
            found.append(unknown_ranks(run.name, next(iter(tables.notes), "none of them can be read")))
        found[-1].folders.extend(run.folders)
    return found


def _predicted(kept: KeptCapture) -> str | None:
    """What other settings would bring, as JSON; None for a capture that nothing can be predicted from."""
    if kept.capture.mode != "train" or not kept.capture.HasField("loader"):
        return None
    try:
        loop, _ = read_loop(kept.path, kept.capture.name, kept.roots)
        return loop_as_json(loop, predict_all(loop, telling_changes(loop)))
    except DataPipelineError:
        return None


def _tell_folders_apart(report: Report, kept: list[KeptCapture], folders: Folders) -> None:
    """The page shows together what is of one run by its name."""
    for capture, one in zip(report.captures, kept, strict=True):
        capture.name = encodable(folders.named(capture.name, one.path))


def _free_file() -> Path:
    """Where a page goes that would flood the terminal: into the working folder, in place of no other file."""
    names = (f"{PAGE}{number}.html" for number in ("", *(f"-{count}" for count in range(2, 1000))))
    return next((path for name in names if not (path := Path(name)).exists()), Path(f"{PAGE}.html"))


def _write_page(report: Report, opened: Opened, folders: Folders, arguments: argparse.Namespace) -> None:
    kept, output = opened.captures, arguments.output
    title = shown(", ".join(map(str, arguments.paths)))
    predicted = [_predicted(one) for one in kept[:PREDICTED]]
    timelines, modified_ns = [timeline_of(one) for one in kept], [one.modified_ns for one in kept]
    given = folders.numbers_in_each([one.path for one in kept])
    page = as_html(report, timelines, title, predicted, opened.complaints, modified_ns, given)
    output = _free_file() if output is None and sys.stdout.isatty() else output
    write_text(page, output)
    size = len(page.encode())
    if output is not None:
        what = f"{plural(len(kept), 'capture')}, {data_size(size)}"
        complain(f"wrote {output}: {what}, opens in a browser without a server")
    missing = without_timeline(page)
    if missing:
        complain(f"{plural(missing, 'capture')} of the page found no room for a timeline; name fewer traces")
    missing = without_comparison(page)
    if missing:
        complain(f"{plural(missing, 'capture')} of the page found no room for a comparison; name fewer traces")
    if size > MAX_BYTES:
        limit = data_size(MAX_BYTES)
        complain(f"the page is larger than {limit}, more than many mail servers accept; name fewer traces")


def _write(opened: Opened, runs: list[NamedRun], arguments: argparse.Namespace) -> None:
    kept = opened.captures
    report, output = as_report([capture.capture for capture in kept]), arguments.output
    folders = Folders.of(arguments.paths if arguments.format in ("html", "markdown") else ())
    runs = [(run, folders.named(name, run.folder)) for run, name in runs]
    if arguments.format == "html":
        _tell_folders_apart(report, kept, folders)
    if arguments.format != "text":
        whole = whole_runs_report(runs)
        report.whole_runs.extend(whole.runs)
        report.runs_without_steps.extend(whole.runs_without_steps)
        for problem in whole.problem_texts:
            complain(problem)
        report.ranks.extend(_ranks(kept, report.captures))
    if arguments.format == "html":
        _write_page(report, opened, folders, arguments)
        return
    style = style_for(sys.stdout) if output is None else PLAIN
    writers: dict[str, Callable[[Report], str]] = {
        "json": partial(as_json, indent=2),
        "markdown": report_markdown,
        "text": partial(
            as_text,
            style=style,
            only_summary=arguments.summary and bool(kept),
            whole_runs=(runs_summary if arguments.summary else runs_text)([run for run, _ in runs], style),
        ),
    }
    text = writers[arguments.format](report)
    write_text(text, output)
    if output is not None and output.is_file():
        complain(f"wrote {output}: {plural(len(kept), 'capture')}, {data_size(len(text.encode()))}")
