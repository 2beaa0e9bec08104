"""What a command writes: by ``--format``, else by the ending of the file that it writes."""

from __future__ import annotations

import argparse
from typing import Final

from tb_dataplugin.cli.terminal import complain

TEXT: Final = "text"

ENDINGS: Final = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown"}


def add_format_argument(parser: argparse.ArgumentParser, *formats: str, note: str = "") -> None:
    """`note`: what its help says of the formats."""
    help_format = f"default: by the ending of FILE, else {TEXT}"
    parser.add_argument("--format", choices=(TEXT, *formats), help=f"{help_format}; {note}" if note else help_format)
    parser.set_defaults(formats=formats)


def settle_format(arguments: argparse.Namespace) -> None:
    """Where a command has one and none was asked for."""
    if getattr(arguments, "format", TEXT) is not None:
        return
    arguments.format = TEXT
    named = None if arguments.output is None else ENDINGS.get(arguments.output.suffix.lower())
    if named in arguments.formats:
        arguments.format = named
    elif named is not None:
        others = " or ".join(arguments.formats)
        complain(f"{arguments.output} will be text: `{arguments.command}` writes no {named} (--format {others})")
