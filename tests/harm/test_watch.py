"""A program whose whole run is watched does what it does without us."""

from __future__ import annotations

import pytest

from tests.harm.cells import Cell
from tests.harm.lab import Lab

CELLS = [
    *(Cell("map", "none", ending=ending, marks="watch") for ending in ("normal", "interrupt")),
    *(Cell("map_workers", "none", ending=ending, marks="watch") for ending in ("collate_raises", "terminate")),
    *(Cell(loader, "none", marks="watch") for loader in ("map_spawn", "iterable_workers")),
    *(Cell("map_workers", profilers, marks="watch") for profilers in ("monitor_and_ours",)),
]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_watched_program_does_what_it_does_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))
