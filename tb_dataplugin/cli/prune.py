"""``tb-dataplugin prune``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.inputs import is_folder
from tb_dataplugin.cli.rewriting import SUFFIX, add_rewriting_arguments, rewrite_all
from tb_dataplugin.cli.run_files import whole_runs, write_runs
from tb_dataplugin.reader.discovery import TraceFile, strip_suffix
from tb_dataplugin.sharing.pruning import prune
from tb_dataplugin.sharing.run_names import with_traces
from tb_dataplugin.watchfile.reading import read_texts


class PruneCommand:
    """Write a trace with only what its report needs: a fraction of the size of most, and the same report.

    Operators inside other operators, Python stacks, shapes and arrows are left out. Without -o it is written into the
    working folder, as NAME.pruned.pt.trace.json.gz. Files of whole runs (annotate.watch) in the folders are copied.
    """

    name: ClassVar[str] = "prune"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add_rewriting_arguments(parser, required=False)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        as_large = "the trace has hardly anything that its report does without"
        status = rewrite_all(arguments, prune, _named, as_large)
        folders = [path for path in arguments.paths if is_folder(path)]
        runs, of_runs = whole_runs(argparse.Namespace(paths=folders, follow_links=arguments.follow_links))
        return max(status, of_runs, write_runs(runs, arguments.output, _run_texts, _as_it_is_called))


def _named(trace: TraceFile) -> Path:
    return Path(trace.run) / _pruned(trace.path.name)


def _pruned(name: str) -> str:
    return f"{strip_suffix(name)}.pruned{SUFFIX}"


def _as_it_is_called(run: TraceFile) -> Path:
    return Path(run.run) / run.path.name


def _run_texts(run: TraceFile) -> Iterator[bytes]:
    """Its lines, with the names that the traces beside it have now."""
    texts = read_texts(run.path, run.roots)
    beside = {path.name for path in run.path.parent.iterdir()}
    return with_traces(texts, lambda name: _pruned(name) if name in beside else name)
