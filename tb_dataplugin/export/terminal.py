"""What a terminal can show: colours only on a terminal, block characters only when the encoding has them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TextIO

STAGE_COLORS = {
    "read": 32, "decode": 74, "transform": 36, "collate": 175, "transfer": 214, "h2d": 202, "user": 142, "wait": 245,
}  # fmt: skip
"""Nearest of the 256 terminal colours to the tokens of the page."""


@dataclass(frozen=True, slots=True)
class Style:
    """Glyphs for bars and rules; `color` turns escape sequences on."""

    full: str = "█"
    dark: str = "▓"
    light: str = "░"
    rule: str = "─"
    color: bool = False
    ascii: bool = False

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.color else text

    def stage(self, kind: str, text: str) -> str:
        code = STAGE_COLORS.get(kind)
        return f"\x1b[38;5;{code}m{text}\x1b[0m" if self.color and code else text

    def legible(self, text: str) -> str:
        """`text` without the few characters beyond ASCII that reports use, where the encoding lacks them."""
        return text.translate(_IN_ASCII) if self.ascii else text


_IN_ASCII = str.maketrans({"·": "-", "–": "-", "−": "-", "µ": "u"})

PLAIN = Style()
ASCII = Style(full="#", dark="=", light=".", rule="-", ascii=True)


def style_for(stream: TextIO) -> Style:
    """The style that `stream` can show. NO_COLOR turns colours off (no-color.org)."""
    color = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    try:
        "█▓░─–·µ".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return replace(ASCII, color=color)
    return Style(color=color)
