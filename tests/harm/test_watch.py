"""A program whose whole run is watched does what it does without us."""

from __future__ import annotations

import pytest

from tests.harm.cells import Cell
from tests.harm.lab import Lab

CELLS = [
    Cell("map", "none", marks="watch"),
    Cell("map", "none", ending="interrupt", marks="watch"),
    Cell("map_workers", "none", ending="collate_raises", marks="watch"),
    Cell("map_spawn", "none", marks="watch"),
    Cell("map_workers", "monitor_and_ours", marks="watch"),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_watched_program_does_what_it_does_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))
