"""Lines for the terminal. Imports next to nothing: every command begins here."""

from __future__ import annotations

import os
import sys

from tb_dataplugin.shown import shown


def complain(message: str) -> None:
    """One line on stderr; names in it are escaped."""
    print(f"tb-dataplugin: {shown(message)}", file=sys.stderr)


def forget_output() -> None:
    """Nobody reads standard output any longer; what is still to be flushed goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
