"""What a command prints, as a picture.

    python scripts/terminal_picture.py docs/images/tune.svg tb-dataplugin tune train:make_loader --step-ms 4

The SVG needs nothing else: its text is text, in the reader's own monospaced font, and it is light or dark as the reader
is. It ends with the command's exit status; what the command writes to stderr is shown here, and is not in the picture.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape, quoteattr

LETTER_PX: Final = 7.8
"""Width of a letter of FONT_PX: lines are stretched to it, whatever font there is."""
FONT_PX: Final = 13
LINE_PX: Final = 19
PAD_PX: Final = 16
COLUMNS: Final = 100
"""At least, so that pictures of several commands have one size of letters."""

STYLE: Final = f"""
text {{ fill: #1B1F24; white-space: pre; }}
text {{ font: {FONT_PX}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }}
rect {{ fill: #F5F6F8; }}
.command {{ font-weight: 600; }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #E8EAED; }} rect {{ fill: #2A2D31; }} }}
"""


def picture(command: str, text: str) -> str:
    """An SVG of `text` below the command that printed it."""
    lines = [f"$ {command}", "", *text.expandtabs(4).rstrip().splitlines()]
    width = 2 * PAD_PX + LETTER_PX * max(COLUMNS, *map(len, lines))
    height = 2 * PAD_PX + LINE_PX * len(lines)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img"'
    return "\n".join(
        (
            f"{head} aria-label={quoteattr(f'What {command} prints')}>",
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" rx="4"/>',
            *(_line(number, line) for number, line in enumerate(lines) if line),
            "</svg>\n",
        )
    )


def _line(number: int, line: str) -> str:
    """White space at its beginning is a place: browsers differ in how they stretch it."""
    words = line.lstrip(" ")
    x = PAD_PX + LETTER_PX * (len(line) - len(words))
    y = PAD_PX + LINE_PX * number + FONT_PX
    kind = ' class="command"' if number == 0 else ""
    size = f'textLength="{LETTER_PX * len(words):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:.1f}" y="{y}" {size}{kind} xml:space="preserve">{escape(words)}</text>'


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    file, *command = arguments
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.stdout.strip():
        Path(file).write_text(picture(shlex.join(command), done.stdout), encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
