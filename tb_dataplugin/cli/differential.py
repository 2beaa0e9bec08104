"""``tb-dataplugin differential``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from tb_dataplugin.cli.inputs import check_output, write_text
from tb_dataplugin.cli.tune import (
    INTERRUPTED,
    add_step_arguments,
    add_window_arguments,
    in_place,
    program_of,
    progress,
)
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.storage.page_cache import can_be_emptied, drop
from tb_dataplugin.storage.samples import every
from tb_dataplugin.tune.differential import measure
from tb_dataplugin.tune.differential_text import as_json, as_text
from tb_dataplugin.tune.setting import Changes

NOT_EMPTIED: Final = "Nothing was read from storage: these files cannot be put out of the page cache here."
NOT_CHECKED: Final = "Whether the files had left the page cache cannot be checked here."


class DifferentialCommand:
    """Measure what reading and the rest of loading add to a step, by leaving them out for real.

    The loop runs with batches from memory, with its loader while the files are in the page cache, and (with --files)
    while they have to be read from storage: the same samples each time, if their order follows from torch's random
    numbers (shuffle=True, or a generator). MODULE:NAME and the training step are those of `tune`. A capture shows what
    a stage takes; this shows how much of it is storage, also where a library reads and decodes in one call.

    --files are put out of the page cache before each cold window, for the whole machine: other programs that read them
    then wait for storage as well. Nothing is written. Ctrl-C ends with the rounds so far, from two on (exit status
    130).
    """

    name: ClassVar[str] = "differential"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("target", metavar="MODULE:NAME", help="a DataLoader, or a function that returns one, as train:make_loader")
        add("--files", nargs="+", default=[], metavar="PATH", help="what the dataset reads: folders, files, patterns")
        add("--rounds", type=int, default=5, metavar="N", help="of all windows (default: 5)")
        add_step_arguments(parser)
        add_window_arguments(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        if not 2 <= arguments.rounds <= 1000:
            raise BadRequest(f"--rounds must be between 2 and 1000, not {arguments.rounds}")
        if not 0.01 <= arguments.seconds < 1e6:
            raise BadRequest(f"--seconds must be at least 0.01, not {arguments.seconds:g}")
        program = program_of(arguments, arguments.capture)
        empty, notes = _emptying(arguments)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was measured is not lost
        with in_place():
            server = program.start(Changes())
            try:
                size = server.facts(1).batch_size
                made = measure(server, arguments.rounds, empty, progress)
            finally:
                server.close()
        if made.is_interrupted:
            notes.append(f"Interrupted after {len(made.memory)} of {arguments.rounds} rounds.")
        if arguments.format == "json":
            text = as_json(made, program, size, notes)
        else:
            text = as_text(made, program, size, notes, style_for(sys.stdout) if arguments.output is None else PLAIN)
        write_text(text, arguments.output)
        return INTERRUPTED if made.is_interrupted else 0


def _emptying(arguments: argparse.Namespace) -> tuple[Callable[[], object] | None, list[str]]:
    """What puts the files out of the page cache; None where that does not work, or none are named."""
    if not arguments.files:
        return None, ["Without --files, reading from storage is not measured."]
    files = every(arguments.files)
    check_output(arguments.output, files)
    cold = can_be_emptied(files)
    if cold == "no":
        return None, [NOT_EMPTIED]
    return partial(drop, files), [NOT_CHECKED] if cold == "unknown" else []
