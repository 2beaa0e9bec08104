"""Finds the subcommand, runs it, and turns errors into exit status: the only place that does."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import ClassVar, Final, NoReturn, Protocol

from annotate.trace_format import EPOCHS_SUFFIX, TRACE_SUFFIX
from tb_dataplugin.cli.formats import settle_format
from tb_dataplugin.cli.terminal import complain, forget_output
from tb_dataplugin.errors import DataPipelineError, InternalError
from tb_dataplugin.shown import shown
from tb_dataplugin.version import VERSION


class Command(Protocol):
    """A subcommand: its docstring is the help."""

    name: ClassVar[str]

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None: ...

    @staticmethod
    def run(arguments: argparse.Namespace) -> int: ...


COMMANDS: Final = {
    "report": ("tb_dataplugin.cli.report", "ReportCommand"),
    "compare": ("tb_dataplugin.cli.compare", "CompareCommand"),
    "whatif": ("tb_dataplugin.cli.whatif", "WhatIfCommand"),
    "ranks": ("tb_dataplugin.cli.ranks", "RanksCommand"),
    "export": ("tb_dataplugin.cli.export", "ExportCommand"),
    "prune": ("tb_dataplugin.cli.prune", "PruneCommand"),
    "anonymise": ("tb_dataplugin.cli.anonymise", "AnonymiseCommand"),
    "run": ("tb_dataplugin.cli.run", "RunCommand"),
    "tune": ("tb_dataplugin.cli.tune", "TuneCommand"),
    "probe-storage": ("tb_dataplugin.cli.probe_storage", "ProbeStorageCommand"),
    "differential": ("tb_dataplugin.cli.differential", "DifferentialCommand"),
    "verify": ("tb_dataplugin.cli.verify", "VerifyCommand"),
    "attach": ("tb_dataplugin.cli.attach", "AttachCommand"),
}
"""Module and class, imported when it is asked for: `run` waits beside a training program, and must have no threads of
numpy's, which would get the signals that are meant for it.
"""


def _asked_for(argv: Sequence[str]) -> Iterable[type[Command]]:
    for name, (module, cls) in COMMANDS.items():
        if not argv or argv[0] not in COMMANDS or argv[0] == name:
            yield getattr(import_module(module), cls)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 fine, 1 nothing to report, 2 bad usage or unreadable input, 3 internal error (see `compare`)."""
    words = _without_notes(sys.argv[1:] if argv is None else argv)
    try:
        return _answer(build_parser(words).parse_args(words))
    except KeyboardInterrupt:
        return 130


def _without_notes(words: Sequence[str]) -> list[str]:
    """A pattern of the shell for a capture, ``vm_81*``, also names the file that `run` left beside it. A program that
    `run` starts keeps its words.
    """
    if "run" in words[:1]:
        return list(words)
    beside = {word.removesuffix(TRACE_SUFFIX) + EPOCHS_SUFFIX for word in words if word.endswith(TRACE_SUFFIX)}
    return [word for word in words if word not in beside]


def _answer(arguments: argparse.Namespace) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):  # do not stop for a name that the terminal cannot show
        sys.stdout.reconfigure(errors="replace")
    settle_format(arguments)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except DataPipelineError as error:
        return _fail(error)
    except BrokenPipeError:
        forget_output()
        return 0
    except OSError as error:
        return _fail(DataPipelineError(f"cannot finish `{arguments.command}`: {error.strerror or error}"))
    except MemoryError:
        return _fail(DataPipelineError("there is not enough memory; close other programs, or capture less"))
    except Exception as error:
        return _fail(InternalError(f"finish `{arguments.command}`", error))
    return status


def _fail(error: DataPipelineError) -> int:
    complain(str(error))
    return error.exit_status


class _Parser(argparse.ArgumentParser):
    """Its errors quote what was typed, which may come from a script's file names."""

    bad_usage = 2
    """Exit status; `run` leaves 2 to the programs that it runs."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(self.bad_usage, shown(f"{self.prog}: error: {message}") + "\n")


def build_parser(argv: Sequence[str] = ()) -> argparse.ArgumentParser:
    """For a command line: with the subcommand that it begins with, or with all."""
    parser = _Parser(
        prog="tb-dataplugin",
        description="Shows which stage of your PyTorch data pipeline the device waits for.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _asked_for(argv):
        text = (command.__doc__ or "").strip()
        sub = subcommands.add_parser(command.name, help=text.splitlines()[0], description=text)
        command.add_arguments(sub)
        sub.bad_usage = getattr(command, "bad_usage", 2)
        sub.set_defaults(run=command.run, command=command.name)
    return parser
