"""Files of whole runs (`annotate.watch`) among the paths on the command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tb_dataplugin.cli.inputs import is_folder
from tb_dataplugin.cli.rewriting import write_new
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, TraceFile, describe, find_traces
from tb_dataplugin.remote import Place, Url, growing
from tb_dataplugin.units import data_size, plural
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


def whole_runs(arguments: argparse.Namespace) -> tuple[list[TraceFile], int]:
    """Each of `run_files` once, and the exit status."""
    errors: list[UnreadableTrace] = []
    files = {os.path.realpath(file.path): file for file in run_files(arguments, errors.append)}
    for error in errors:
        complain(str(error))
    return list(files.values()), max((error.exit_status for error in errors), default=0)


def write_runs(
    files: Sequence[TraceFile],
    output: Path | None,
    rewrite: Callable[[TraceFile], Iterable[bytes]],
    named: Callable[[TraceFile], Path],
) -> int:
    """Below the folder `output`, None: into the working folder. One that cannot be read costs a line and the exit
    status. `named`: a run's file below OUT. None is written beside itself: both would be read as one run.
    """
    if files and output is not None and output.name.endswith(TRACE_SUFFIXES) and not output.is_dir():
        complain(f"left out {plural(len(files), 'file')} of whole runs: {output} is one trace, name a folder with -o")
        return 0
    if output is None and len({file.path.parent for file in files}) > 1:
        complain(f"left out {plural(len(files), 'file')} of whole runs, of several folders: name a folder with -o")
        return 0
    status = 0
    for file in files:
        target = Path(named(file).name) if output is None else output / named(file)
        if target.parent.resolve() == file.path.parent.resolve():
            continue
        try:
            size = write_new(rewrite(file), target)
        except UnreadableTrace as error:
            complain(str(error))
            status = max(status, error.exit_status)
        else:
            complain(f"wrote {target}: {data_size(size)}, a whole run")
    return status


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
