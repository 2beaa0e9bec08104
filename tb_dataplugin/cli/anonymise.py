"""``tb-dataplugin anonymise``."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.rewriting import add_rewriting_arguments, rewrite_all
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.reader.discovery import TraceFile
from tb_dataplugin.sharing.anonymising import KEPT, anonymise, anonymous_file
from tb_dataplugin.sharing.hashing import Hasher


class AnonymiseCommand:
    """Write traces without names of files, functions, classes, data, hosts and people, to show them to others.

    Names become hashes: the same name has the same hash in all traces of one call. The salt is random and is not
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

        status = rewrite_all(arguments, partial(anonymise, hasher=hasher), named)
        complain(KEPT)
        return status
