"""``tb-dataplugin tune``."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import ClassVar, Final

from tb_dataplugin.cli.formats import add_format_argument
from tb_dataplugin.cli.inputs import add_links_argument, check_output, newest_trace, write_text
from tb_dataplugin.cli.terminal import complain
from tb_dataplugin.drive.program import find_program
from tb_dataplugin.errors import BadRequest, CannotStart
from tb_dataplugin.export.terminal import PLAIN, style_for
from tb_dataplugin.remote import Place, place
from tb_dataplugin.shown import shown
from tb_dataplugin.tune.as_json import as_json
from tb_dataplugin.tune.as_text import as_text
from tb_dataplugin.tune.running import Limits
from tb_dataplugin.tune.script import Script
from tb_dataplugin.tune.server import Program
from tb_dataplugin.tune.setting import NAMES
from tb_dataplugin.tune.training_step import WITHOUT, step_from
from tb_dataplugin.tune.tuning import tune

INTERRUPTED = 130


class TuneCommand:
    """Try other settings of a DataLoader for real, and keep what beats the best beyond the noise.

    MODULE:NAME is a DataLoader, or a function without arguments that returns one. It is rebuilt from its own
    attributes, with the same dataset, sampler and collate function, and with other settings: num_workers,
    prefetch_factor, pin_memory (with --device), persistent_workers (if epochs are short), in_order (torch 2.6 or
    later), threads per worker (if OpenCV is loaded). Each setting runs in a separate process, in short windows
    that alternate with the best so far. What a model predicts from a capture of the first window is tried first.

    The training step is simulated: --step-ms, or a capture of the real program, gives its length. Without either it
    takes no time, and the loader's own throughput is measured, which a training step may never need.

    Or a training program, as it is: `tb-dataplugin tune -- python train.py`. It is started once for each setting (two
    at a time) and stopped after its windows as by Ctrl-C, so all that it writes is written each time. The DataLoader
    that trains gets its settings when it is made; the program's own steps are timed.

    Ends in a ledger of all settings tried, a diff to apply, and what needs code instead. Ctrl-C ends with the results
    so far (exit status 130). Settings that do not fit into memory or /dev/shm are not tried.
    """

    name: ClassVar[str] = "tune"

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        parser.usage = "%(prog)s [options] MODULE:NAME | -- PROGRAM ..."
        help_target = "a DataLoader, or a function that returns one, as train:make_loader; or a command, behind --"
        add("target", metavar="MODULE:NAME", nargs="+", help=help_target)
        add_step_arguments(parser)
        add("--try", dest="tried", type=_names, default=(), metavar="NAME,...", help="only these settings")
        add("--runs", type=int, default=12, metavar="N", help="settings measured at most (default: 12)")
        add("--minutes", type=float, default=15.0, metavar="M", help="no window begins after these (default: 15)")
        add("--logdir", type=Path, metavar="D", help="capture the best loop once more, into this folder")
        add_run_arguments(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        limits = limits_of(arguments, arguments.runs, arguments.minutes, arguments.tried)
        program = _target_of(arguments)
        if isinstance(program, Script):
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # its programs have to be stopped
            complain(
                f"starts `{shown(program.target)}` up to {limits.runs + 2} times, two of them at once, and stops each "
                "after its windows: what it writes (checkpoints, logs) it writes each time"
            )
        with in_place():
            tuned = tune(program, limits, progress, arguments.logdir)
        style = style_for(sys.stdout) if arguments.output is None else PLAIN
        write_text(as_json(tuned) if arguments.format == "json" else as_text(tuned, style), arguments.output)
        return INTERRUPTED if tuned.outcome.interrupted else 0


_HOW: Final = (
    "A loader is named as MODULE:NAME (`tb-dataplugin tune train:make_loader`), a program as its command behind -- "
    "(`tb-dataplugin tune -- python train.py`)"
)


def _target_of(arguments: argparse.Namespace) -> Program | Script:
    """Raises BadRequest, and CannotStart for a command that cannot be run."""
    words = arguments.target
    if len(words) == 1 and ":" in words[0]:
        arguments.target = words[0]
        return program_of(arguments, arguments.capture)
    given = {"--capture": arguments.capture, "--step-ms": arguments.step_ms, "--step-cpu": arguments.step_cpu}
    wrong = next((name for name, value in given.items() if value is not None), "--device" if arguments.device else "")
    if wrong:
        raise BadRequest(f"{wrong} is for a loader alone: a program has its own training step; leave it out")
    if not hasattr(os, "killpg"):
        raise BadRequest("programs are run on Linux and macOS only: this system has no process groups")
    script = Script(tuple(words), arguments.seconds)
    try:
        find_program(script.command, script.environment)
    except CannotStart as error:
        end = "" if str(error).endswith("?") else "."
        raise CannotStart(error.exit_status, f"{error}{end} {_HOW}") from None
    return script


def add_step_arguments(parser: argparse.ArgumentParser) -> None:
    """What stands in for the training step."""
    add = parser.add_argument
    add("--capture", type=place, metavar="CAPTURE", help="a capture of the real program, for the length of its step")
    add("--step-ms", type=float, metavar="X", help="milliseconds that a training step takes, without its data wait")
    help_cpu = "share of the step that keeps a CPU busy (default: 0: it sleeps, as if a device worked)"
    add("--step-cpu", type=float, metavar="0..1", help=help_cpu)
    add("--device", default="", metavar="DEVICE", help="copy batches there, such as cuda; pin_memory is tried then")


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """How windows are run in pairs, and where the answer goes."""
    parser.add_argument(
        "--pairs", type=int, default=8, metavar="N", help="pairs of windows per setting, at most (default: 8)"
    )
    add_window_arguments(parser)


def add_window_arguments(parser: argparse.ArgumentParser) -> None:
    """How windows are run, and where the answer goes."""
    add = parser.add_argument
    add("--seconds", type=float, default=2.0, metavar="S", help="that a window is timed (default: 2)")
    add("--python", default=sys.executable, metavar="PATH", help="the interpreter that has torch (default: this one)")
    add_format_argument(parser, "json")
    add_links_argument(parser)
    add("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead of the terminal")
    add("--arguments", nargs=argparse.REMAINDER, default=[], help="all that follows goes to MODULE, in sys.argv")


def limits_of(arguments: argparse.Namespace, runs: int, minutes: float, tried: tuple[str, ...] = ()) -> Limits:
    """Raises BadRequest for what leaves nothing to measure."""
    least = {"--runs": (runs, 2), "--minutes": (minutes, 0.01), "--pairs": (arguments.pairs, 2)}
    for name, (value, minimum) in {**least, "--seconds": (arguments.seconds, 0.01)}.items():
        if not minimum <= value < 1e6:
            raise BadRequest(f"{name} must be at least {minimum:g}, not {value:g}")
    return Limits(runs, minutes, arguments.pairs, tried)


def program_of(arguments: argparse.Namespace, capture: Place | None) -> Program:
    """The loop to run, with the step of `capture`, or of --step-ms. Raises BadRequest."""
    if not hasattr(os, "killpg"):
        raise BadRequest("loops are run on Linux and macOS only: this system has no process groups")
    step_ms, step_cpu = arguments.step_ms, arguments.step_cpu
    if capture is not None:
        if isinstance(capture, Path):
            check_output(arguments.output, [capture])
        if step_ms is None:
            trace = newest_trace(capture, arguments.follow_links)
            step_ms, measured, _ = step_from(trace)
            step_cpu = measured if step_cpu is None else step_cpu
    without = WITHOUT if capture is not None and arguments.step_ms is None else ""
    step_ms, step_cpu = step_ms or 0.0, step_cpu or 0.0
    if not 0 <= step_ms < 1e6:
        raise BadRequest(f"--step-ms must be at least 0, not {step_ms:g}")
    if not 0 <= step_cpu <= 1:
        raise BadRequest(f"--step-cpu must be between 0 and 1, not {step_cpu:g}")
    return Program(
        target=arguments.target,
        step_ms=step_ms,
        step_cpu=step_cpu,
        step_without=without,
        device=arguments.device,
        arguments=tuple(arguments.arguments),
        python=arguments.python,
        seconds=arguments.seconds,
    )


@contextlib.contextmanager
def in_place() -> Generator[None, None, None]:
    """Around what makes `progress`: leaves none of it on a terminal."""
    try:
        yield
    finally:
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def progress(line: str) -> None:
    """On stderr: in place on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[Ktb-dataplugin: {shown(line)}", end="", file=sys.stderr, flush=True)
    else:
        complain(line)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f"{name!r} is not a setting; choose from {', '.join(NAMES)}")
    return names
