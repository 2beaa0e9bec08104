"""Finds the subcommand, runs it, and turns errors into exit status: the only place that does."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from typing import ClassVar, NoReturn, Protocol

from tb_dataplugin.cli.compare import CompareCommand
from tb_dataplugin.cli.export import ExportCommand
from tb_dataplugin.cli.inputs import complain, forget_output
from tb_dataplugin.cli.report import ReportCommand
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


COMMANDS: tuple[type[Command], ...] = (ReportCommand, CompareCommand, ExportCommand)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 fine, 1 nothing to report, 2 bad usage or unreadable input, 3 internal error (see `compare`)."""
    arguments = build_parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):  # do not stop for a name that the terminal cannot show
        sys.stdout.reconfigure(errors="replace")
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except DataPipelineError as error:
        return _fail(error)
    except BrokenPipeError:
        forget_output()
        return 0
    except KeyboardInterrupt:
        return 130
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

    def error(self, message: str) -> NoReturn:
        super().error(shown(message))


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tb-dataplugin",
        description="Shows which stage of your PyTorch data pipeline the device waits for.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    subcommands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        text = (command.__doc__ or "").strip()
        sub = subcommands.add_parser(command.name, help=text.splitlines()[0], description=text)
        command.add_arguments(sub)
        sub.set_defaults(run=command.run, command=command.name)
    return parser
