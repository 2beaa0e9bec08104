"""Tables that keep to the width: where there is no room for all columns, those that matter least are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    width: int
    leaves: int = 0
    """The highest is left out first; 0 never is."""
    align: Literal["<", ">"] = ">"

    def cell(self, text: str) -> str:
        return f"{text:{self.align}{self.width}}"


def with_room(columns: Sequence[Column], room: int) -> tuple[Column, ...]:
    """Those that fit into `room` characters."""
    kept = list(columns)
    while sum(column.width for column in kept) > room and any(column.leaves for column in kept):
        kept.remove(max(kept, key=lambda column: column.leaves))
    return tuple(kept)


def heads(columns: Sequence[Column]) -> str:
    return "".join(column.cell(column.head) for column in columns)


def cells(columns: Sequence[Column], texts: Mapping[str, str]) -> str:
    """One row.

    Args:
        texts: By the heads of all columns, also of those that are left out.
    """
    return "".join(column.cell(texts[column.head]) for column in columns)
