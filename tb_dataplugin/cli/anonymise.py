"""``tb-dataplugin anonymise``."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.rewriting import add_rewriting_arguments, rewrite_all, write_new
from tb_dataplugin.cli.run_files import paths_of_traces, run_files
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.errors import UnreadableTrace
from tb_dataplugin.reader.discovery import TRACE_SUFFIXES, TraceFile
from tb_dataplugin.sharing.anonymising import KEPT, anonymise, anonymous_file
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.run_names import anonymous_run
from tb_dataplugin.units import data_size, plural
from tb_dataplugin.watchfile.reading import SUFFIX, read_lines


class AnonymiseCommand:
    """Write traces without names of files, functions, classes, data, hosts and people, to show them to others.

    Files of whole runs (annotate.watch) are written so, too.

    Names become hashes: the same name has the same hash in all files of one call. The salt is random and is not
    stored. Numbers stay, and so do names of PyTorch, CUDA and known libraries.
    """

    name: ClassVar[str] = "anonymise"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add_rewriting_arguments(parser, required=True)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        hasher = Hasher()

        def named(trace: TraceFile) -> Path:
            return Path(anonymous_file(trace.run, trace.path.name, hasher))

        runs, status = _whole_runs(arguments)
        paths = paths_of_traces(arguments.paths, [file.path.parent for file in runs])
        if paths:
            of_traces = argparse.Namespace(**{**vars(arguments), "paths": paths})
            status = max(status, rewrite_all(of_traces, partial(anonymise, hasher=hasher), named))
        status = max(status, _write_runs(runs, arguments.output, hasher))
        complain(KEPT)
        return status


def _whole_runs(arguments: argparse.Namespace) -> tuple[list[TraceFile], int]:
    """Each once, and the exit status."""
    errors: list[UnreadableTrace] = []
    files = {os.path.realpath(file.path): file for file in run_files(arguments, errors.append)}
    for error in errors:
        complain(str(error))
    return list(files.values()), max((error.exit_status for error in errors), default=0)


def _write_runs(files: list[TraceFile], output: Path, hasher: Hasher) -> int:
    """Below the folder `output`. One that cannot be read costs a line and the exit status."""
    if files and output.name.endswith(TRACE_SUFFIXES) and not output.is_dir():
        complain(f"left out {plural(len(files), 'file')} of whole runs: {output} is one trace, name a folder with -o")
        return 0
    status = 0
    for file in files:
        try:
            _, lines, _ = read_lines(file.path, file.roots)
        except UnreadableTrace as error:
            complain(str(error))
            status = max(status, error.exit_status)
            continue
        target = output / anonymous_file(file.run, file.path.name, hasher, SUFFIX)
        size = write_new(anonymous_run(lines, hasher), target)
        complain(f"wrote {target}: {data_size(size)}, a whole run")
    return status
