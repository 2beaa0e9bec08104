"""Iterable datasets that several DataLoader workers may each read all of: they then bring the same items again."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.model.trace import LoaderInfo


@dataclass(frozen=True, slots=True)
class Undivided:
    """`dataset`: its class. `is_certain`: nothing in its code divides it; else that was not looked at. `may_draw`:
    nobody knows that it does not draw its items at random, without an end, so that there is nothing to divide.
    """

    dataset: str
    is_certain: bool
    may_draw: bool


def find_undivided(settings: LoaderInfo | None) -> Undivided | None:
    """None where the dataset has indices, its code may divide it, or its items are drawn without an end."""
    if settings is None or not settings.iterable or settings.divided or settings.drawn:
        return None
    return Undivided(settings.dataset or "the dataset", settings.divided is False, settings.drawn is None)
