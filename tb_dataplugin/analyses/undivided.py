"""Iterable datasets that several DataLoader workers may each read all of: they then bring the same items again."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class Undivided:
    """`dataset`: its class. `is_certain`: nothing in its code divides it; else that was not looked at."""

    dataset: str
    is_certain: bool


def find_undivided(settings: LoaderInfo | None) -> Undivided | None:
    """None where the dataset has indices, or something in its code may divide it."""
    if settings is None or not settings.iterable or settings.divided:
        return None
    return Undivided(settings.dataset or "the dataset", settings.divided is False)
