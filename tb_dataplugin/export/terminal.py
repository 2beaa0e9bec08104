"""What a terminal can show: colours only on a terminal, block characters only when the encoding has them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TextIO

from tb_dataplugin.export.width import WIDEST
from tb_dataplugin.words import STAGE_KINDS

COLORS: Final[dict[str, int]] = {
    **{kind.id: kind.terminal for kind in STAGE_KINDS},
    "kernel": 103, "data_wait": 167, "launch": 178, "sync": 97, "host": 245, "comm": 137,
}  # fmt: skip
"""By stage kind, cause of idle time, and device activity: the nearest of the 256 terminal colours to the page's."""


@dataclass(frozen=True, slots=True)
class Style:
    """Glyphs for bars and rules; `color` turns escape sequences on."""

    full: str = "█"
    dark: str = "▓"
    medium: str = "▒"
    light: str = "░"
    rule: str = "─"
    color: bool = False
    ascii: bool = False
    width: int = WIDEST

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.color else text

    def paint(self, token: str, text: str) -> str:
        """`text` in the colour of a stage kind, or of a cause of idle time."""
        code = COLORS.get(token)
        return f"\x1b[38;5;{code}m{text}\x1b[0m" if self.color and code and text else text

    def paint_bar(self, bar: str, tokens: Mapping[str, str]) -> str:
        """A bar whose runs of glyphs have colours, `tokens` by glyph."""
        return re.sub(r"(\S)\1*", lambda run: self.paint(tokens.get(run[1], ""), run[0]), bar)

    def legible(self, text: str) -> str:
        """`text` without the few characters beyond ASCII that reports use, where the encoding lacks them."""
        return text.translate(_IN_ASCII) if self.ascii else text


_IN_ASCII = str.maketrans({"·": "-", "–": "-", "−": "-", "µ": "u", "→": "->", "±": "+/-"})

PLAIN = Style()
ASCII = Style(full="#", dark="=", medium="+", light=".", rule="-", ascii=True)


def style_for(stream: TextIO) -> Style:
    """The style that `stream` can show. NO_COLOR turns colours off (no-color.org)."""
    width = shutil.get_terminal_size((WIDEST, 24)).columns if stream.isatty() else WIDEST
    color = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        "█▓▒░─–·µ".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return replace(ASCII, color=color, width=width)
    return Style(color=color, width=width)
