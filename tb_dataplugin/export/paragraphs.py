"""Text that keeps to the width: paragraphs, notes behind numbers, names that are cut off, headings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import as_wide_as, columns
from tb_dataplugin.units import count

NOTE: Final = 23
"""Columns that a note needs to be read beside its numbers: with fewer it stands below them."""
UNBROKEN: Final = "\N{NO-BREAK SPACE}"
"""In a heading: its words stay on one line."""


def page(lines: Iterable[str], style: Style) -> str:
    """All lines, as wide as `style` has room for.

    Args:
        lines: Not made before: while they are, `columns` is that width.
    """
    with as_wide_as(style.width):
        return style.legible("\n".join(line.rstrip() for line in lines))


def title(text: str, style: Style) -> Iterator[str]:
    """Of a page."""
    yield style.bold(fit(text, columns()))
    yield style.rule * columns()


def wrap(text: str, first: str, rest: str | None = None) -> Iterable[str]:
    """`text` in lines of at most `columns`."""
    following = first if rest is None else rest
    return textwrap.wrap(text, columns(), initial_indent=first, subsequent_indent=following) or [first]


def noted(numbers: str, note: str) -> Iterator[str]:
    """A note behind the numbers of a line, or below them."""
    if not note or columns() - len(numbers) >= NOTE:
        yield from wrap(note, numbers, " " * len(numbers))
        return
    yield numbers.rstrip()
    yield from wrap(note, "      ")


def fit(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def heading(text: str, style: Style) -> Iterator[str]:
    yield ""
    for line in wrap(text, ""):
        yield style.bold(line.replace(UNBROKEN, " "))


def more(left: int, what: str) -> Iterator[str]:
    """What a table leaves out."""
    if left > 0:
        yield from wrap(f"and {count(left)} more {what}; --format json has them all", "  ")
