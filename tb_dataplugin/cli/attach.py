"""``tb-dataplugin attach``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import ClassVar

from tb_dataplugin.drive import outcome
from tb_dataplugin.drive.attach import Ask, attach


class AttachCommand:
    """Record a training program that is already running, and report what it waits for.

    A program that was started by `tb-dataplugin run --standby -- ...` records itself, with all stages and
    its DataLoader workers; PID is its process, or one above it such as torchrun, whose ranks then all record. One that
    runs on Python 3.14 or newer, with `annotate` installed, is joined while it runs, for one window. One that was
    started with KINETO_USE_DAEMON=1 is asked through torch's own interface: steps, operators and the data wait,
    without stages. Any other is read from outside: its Python stacks show how long it waits for data, what its
    DataLoader workers do, and in which lines.
    """

    name: ClassVar[str] = "attach"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pid", type=_pid, metavar="PID", help="the training process, or one above it")
        help_seconds = "how long to record (default: 5)"
        parser.add_argument("--seconds", type=_seconds, default=5.0, metavar="S", help=help_seconds)
        help_logdir = "folder for the traces (default: that of `run`, else runs/DATE-TIME)"
        parser.add_argument("--logdir", type=Path, metavar="D", help=help_logdir)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        logdir = None if arguments.logdir is None else arguments.logdir.expanduser().absolute()
        found = attach(arguments.pid, Ask(arguments.seconds, logdir))
        if not found.traces:
            assert found.stacks is not None
            from tb_dataplugin.cli import looked

            looked.say(found.stacks, logdir or Path("runs") / time.strftime("%Y%m%d-%H%M%S"))
            return 0
        from tb_dataplugin.pipeline import open_capture

        captures = [open_capture(path).capture for path in found.traces]
        print(outcome.verdict(captures, found.traces[0].parent, found.outcome))
        if found.stacks is not None and not all(capture.stages for capture in captures):
            from tb_dataplugin.cli import looked

            looked.say_beside(found.stacks, found.traces[0].parent)
        return 0


def _pid(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"the number of a process, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"seconds up to 3600, not {text!r}")
    return seconds
