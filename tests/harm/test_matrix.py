"""The program with us is the program without us: every pair of loader, profilers, phase, ending, marks and export."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.harm.cells import QUICK, SLOW, Cell, covering, is_possible
from tests.harm.lab import Lab

CELLS = [*covering(), *SLOW]


def test_every_possible_pair_of_values_occurs() -> None:
    for first, second in combinations(QUICK, 2):
        wanted = {
            pair for pair in product(QUICK[first], QUICK[second]) if is_possible({first: pair[0], second: pair[1]})
        }
        assert wanted <= {(cell.values()[first], cell.values()[second]) for cell in CELLS}


@pytest.mark.one_of(3)
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_program_with_us_is_the_program_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))
