"""The standing hooks do no harm: nobody profiles, the user's own profiler records, or we fail in it."""

from __future__ import annotations

from itertools import product

import pytest

from tests.harm.cells import KINDS, Cell
from tests.harm.compare import differences
from tests.harm.lab import Lab

LOADERS = tuple(name for name, kind in KINDS.items() if not kind.slow)

CELLS = [
    *(Cell(loader, "user", marks="loader") for loader in LOADERS),
    *(Cell(loader, "none", marks="loader") for loader in ("map", "map_workers", "persistent", "own_iter")),
    *(Cell("map_workers", "user", marks=marks, export="late") for marks in ("parts", "auto")),
    *(Cell(loader, "user", marks="auto") for loader in ("own_iter", "own_get_iterator", "iterable_workers")),
    *(
        Cell(loader, "user", ending=ending, marks="loader")
        for loader, ending in product(
            ("map", "map_workers"), ("break", "dataset_raises", "body_raises", "interrupt", "terminate", "hard_exit")
        )
    ),
]


@pytest.mark.one_of(3)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_program_is_what_it_is_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))


STAYING = [Cell(loader, "user", marks="loader", stays=True) for loader in ("map", "iterable_workers", "persistent")]
OURS = ("changes", "open_files")
"""What the standing hooks are seen by, as long as they are in."""


@pytest.mark.parametrize("cell", STAYING, ids=str)
def test_the_hooks_may_stay_until_the_process_ends(lab: Lab, cell: Cell) -> None:
    without, ours = lab.without_us(cell.program()).result(), lab.with_us(cell).result()
    found = [one for one in differences(cell, without, ours) if one.field not in OURS]
    assert not found, "\n".join(map(str, found))
    changed = {name.rpartition(".")[2] for name in ours.changes.keys() - without.changes.keys()}
    assert changed <= {
        *("_prepare_trace", "_start_trace", "__exit__", "export_chrome_trace"),
        *("__iter__", "_get_iterator"),
    }
