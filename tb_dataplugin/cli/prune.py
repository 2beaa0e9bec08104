"""``tb-dataplugin prune``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.rewriting import SUFFIX, add_rewriting_arguments, rewrite_all
from tb_dataplugin.reader.discovery import TraceFile, strip_suffix
from tb_dataplugin.sharing.pruning import prune


class PruneCommand:
    """Write a trace with only what its report needs: a fraction of the size of most, and the same report.

    Operators inside other operators, Python stacks, shapes and arrows are left out. Without -o it is written into the
    working folder, as NAME.pruned.pt.trace.json.gz.
    """

    name: ClassVar[str] = "prune"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add_rewriting_arguments(parser, required=False)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        return rewrite_all(arguments, prune, _named, "the trace has hardly anything that its report does without")


def _named(trace: TraceFile) -> Path:
    return Path(trace.run) / f"{strip_suffix(trace.path.name)}.pruned{SUFFIX}"
