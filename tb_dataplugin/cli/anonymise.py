"""``tb-dataplugin anonymise``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.rewriting import add_rewriting_arguments, check_apart, rewrite_all
from tb_dataplugin.cli.run_files import paths_of_traces, whole_runs, write_runs
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.sharing.anonymising import KEPT, anonymise, anonymous_file
from tb_dataplugin.sharing.hashing import Hasher
from tb_dataplugin.sharing.run_names import anonymous_run
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
        check_apart(arguments.output, arguments.paths)
        hasher = Hasher()

        def named(trace: TraceFile) -> Path:
            return Path(anonymous_file(trace.run, trace.path.name, hasher))

        def run_named(file: TraceFile) -> Path:
            return Path(anonymous_file(file.run, file.path.name, hasher, SUFFIX))

        def without_names(file: TraceFile) -> Iterator[bytes]:
            return anonymous_run(read_lines(file.path, file.roots)[1], hasher)

        runs, status = whole_runs(arguments)
        paths = paths_of_traces(arguments.paths, [file.path.parent for file in runs])
        if paths:
            of_traces = argparse.Namespace(**{**vars(arguments), "paths": paths})
            status = max(status, rewrite_all(of_traces, partial(anonymise, hasher=hasher), named))
        status = max(status, write_runs(runs, arguments.output, without_names, run_named))
        complain(KEPT)
        return status
