"""Text that keeps to the width: paragraphs, names that are cut off, headings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from tb_dataplugin.export.terminal import Style
from tb_dataplugin.export.width import columns


def wrap(text: str, first: str, rest: str | None = None) -> Iterable[str]:
    """`text` in lines of at most `columns`."""
    following = first if rest is None else rest
    return textwrap.wrap(text, columns(), initial_indent=first, subsequent_indent=following) or [first]


def fit(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def heading(text: str, style: Style) -> Iterator[str]:
    yield ""
    yield style.bold(text)
