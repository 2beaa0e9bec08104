"""Files of whole runs (`annotate.watch`) among the paths on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tb_dataplugin.cli.inputs import is_folder
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.discovery import TraceFile, describe, find_traces
from tb_dataplugin.remote import Place, Url, growing
from tb_dataplugin.watchfile.reading import SUFFIX


def paths_of_traces(paths: Sequence[Place], run_folders: Sequence[Path]) -> list[Place]:
    """Those that are not for whole runs alone. `run_folders`: of the whole runs that were found."""
    return [path for path in paths if not (_is_run_file(path) or _has_runs_alone(path, run_folders))]


def _has_runs_alone(path: Place, run_folders: Sequence[Path]) -> bool:
    """A folder with whole runs and without traces: that is no reason to leave out the traces of the others."""
    if isinstance(path, Url) or not is_folder(path):
        return False
    return any(folder.is_relative_to(path) for folder in run_folders) and next(find_traces(path), None) is None


def _is_run_file(path: Place) -> bool:
    return not isinstance(path, Url) and path.name.endswith(SUFFIX) and not is_folder(path)


def run_files(arguments: argparse.Namespace, failed: Callable[[UnreadableTrace], None]) -> Iterator[TraceFile]:
    """Those that are named, and those below the folders."""
    within = () if arguments.follow_links else None
    for path in arguments.paths:
        if isinstance(path, Url):
            yield from growing(path, SUFFIX, failed) if is_folder(path) else ()
        elif is_folder(path):
            yield from find_traces(path, within=within, suffixes=(SUFFIX,))
        elif _is_run_file(path):
            try:
                yield describe(path, ".")
            except OSError as error:
                failed(UnreadableTrace(path, error.strerror or str(error), "check the path and its permissions"))
