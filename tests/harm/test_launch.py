"""A program under `tb-dataplugin run` is the program without it: nobody profiles, it profiles itself, or we fail."""

from __future__ import annotations

from itertools import product

import pytest

from tests.harm.cells import QUICK, Cell, covering, most_of
from tests.harm.compare import OPEN, differences
from tests.harm.lab import Lab

CELLS = [*list(covering({**QUICK, "marks": ("run",)}))[::3], Cell("map_spawn", "none", marks="run")]
"""A third of the matrix of `test_matrix`: every pair of loader, profilers, phase, ending and export."""
CORE = most_of(CELLS[:-1], 16)
"""Those that `make test` runs; `map_spawn` is in `test_watch` as well."""


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, marks=() if cell in CORE else pytest.mark.thorough) for cell in CELLS], ids=str
)
def test_a_program_is_what_it_is_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))


ENDING = [
    Cell(loader, "none", ending=ending, marks="run", stays=True)
    for loader, ending in product(("map", "map_workers", "persistent"), ("normal", "body_raises", "handled_terminate"))
]
OURS = ("changes", "open_files", "threads", OPEN)
"""What the standing hooks and an open window are seen by, as long as they are in."""


@pytest.mark.parametrize("cell", ENDING, ids=str)
def test_a_window_that_is_open_when_the_program_ends_changes_nothing(lab: Lab, cell: Cell) -> None:
    without, ours = lab.without_us(cell.program()).result(), lab.with_us(cell).result()
    found = [one for one in differences(cell, without, ours) if one.field not in OURS]
    assert not found, "\n".join(map(str, found))
    assert ours.at_exit == without.at_exit


@pytest.mark.parametrize("loader", ["map", "map_workers", "persistent", "own_iter", "own_get_iterator", "nested"])
def test_the_program_is_recorded(lab: Lab, loader: str) -> None:
    assert lab.with_us(Cell(loader, "none", marks="run")).result().told["launched"] == ["recorded"]
