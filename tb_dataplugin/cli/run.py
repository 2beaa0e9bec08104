"""``tb-dataplugin run``."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.drive import child, orders, outcome
from tb_dataplugin.drive.program import find_program
from tb_dataplugin.errors import CannotStart, DataPipelineError


class RunCommand:
    """Run a training program as it is, and record some steps of it.

    The program needs no change: `tb-dataplugin run -- python train.py --lr 0.1`, and the same with `torchrun`,
    `accelerate launch`, `python -m`, a script. Its output, exit status and signals are its own; each rank writes a
    trace, and one line at the end has the verdict.
    """

    name: ClassVar[str] = "run"
    bad_usage: ClassVar[int] = 125

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.usage = "%(prog)s [--logdir D] [--wait N] [--active M] [--standby] [--quiet] -- PROGRAM ..."
        help_logdir = "folder for the traces (default: runs/DATE-TIME)"
        parser.add_argument("--logdir", type=Path, metavar="D", help=help_logdir)
        help_wait = "batches that run untouched before recording (default: until the loop is steady)"
        parser.add_argument("--wait", type=_count, metavar="N", help=help_wait)
        help_active = "steps to record (default: 10, or more short ones: about a second and a half)"
        parser.add_argument("--active", type=_positive, metavar="M", help=help_active)
        help_standby = "record nothing until `tb-dataplugin attach` asks for it"
        parser.add_argument("--standby", action="store_true", help=help_standby)
        parser.add_argument("--quiet", action="store_true", help="no line at the end")
        parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="and its arguments")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Does not return once the program has run: this process ends as the program did."""
        order = orders.Order(
            logdir=_logdir(arguments.logdir),
            wait=arguments.wait,
            active=arguments.active,
            standby=arguments.standby,
        )
        try:
            program = find_program(_command(arguments.program), os.environ)
            folder = orders.give_order(order)
        except OSError as error:
            raise CannotStart(125, f"cannot write temporary files: {error.strerror or error}; set TMPDIR") from None
        try:
            status = child.run(program, orders.environment_for(order, folder, os.environ))
            if not arguments.quiet:
                _tell(folder, order, status, arguments.logdir is not None)
        finally:
            orders.take_back(folder)
        child.end_as(status)


def _command(words: list[str]) -> list[str]:
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        raise CannotStart(125, "no program is given; try `tb-dataplugin run -- python train.py`")
    return command


def _logdir(given: Path | None) -> Path:
    """Absolute: the program may change its folder. Raises CannotStart where nothing can be written."""
    logdir = (given or Path("runs") / time.strftime("%Y%m%d-%H%M%S")).expanduser().absolute()
    try:
        _try_to_write(logdir)
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotStart(125, f"cannot write traces to {logdir}: {why}; give another --logdir") from None
    return logdir


def _try_to_write(logdir: Path) -> None:
    """Raises OSError where no file can be made; leaves nothing behind."""
    missing = [folder for folder in (logdir, *logdir.parents) if not folder.exists()]
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=logdir):
            pass
    finally:
        for folder in missing:
            with suppress(OSError):
                folder.rmdir()


def _tell(folder: Path, order: orders.Order, status: int, is_named: bool) -> None:
    """One line; whatever fails of it is said in its place, and the program's status stays."""
    with suppress(KeyboardInterrupt, OSError):
        try:
            line = _line(folder, order, status, is_named)
        except DataPipelineError as error:
            line = str(error)
        except Exception as error:
            line = f"the program's traces could not be analysed: {type(error).__name__}: {error}"
        complain(line)


def _line(folder: Path, order: orders.Order, status: int, is_named: bool) -> str:
    """`is_named`: the user named the log directory, and may look there."""
    found = outcome.read_outcome(folder)
    paths = outcome.traces(found)
    if not paths:
        why = outcome.why_nothing(found, status, order.standby)
        if is_named:
            outcome.leave_note(order.logdir, why)
        return why
    from tb_dataplugin.pipeline import open_capture

    captures = [open_capture(path).capture for path in paths]
    ours = any(note.files for note in found.notes)
    return outcome.verdict(captures, order.logdir if ours else paths[0].parent, found)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number of batches, not {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"at least 1 step, not {text!r}")
    return int(text)
