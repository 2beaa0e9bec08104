"""The program with us is the program without us: every pair of loader, profilers, phase, ending, marks and export."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.harm.cells import QUICK, SLOW, Cell, covering, is_possible, most_of
from tests.harm.lab import Lab

CELLS = [*covering(), *SLOW]
CORE = most_of(covering(), 36)
"""Those that `make test` runs: every value, and half of the pairs."""


def test_every_possible_pair_of_values_occurs() -> None:
    for first, second in combinations(QUICK, 2):
        wanted = {
            pair for pair in product(QUICK[first], QUICK[second]) if is_possible({first: pair[0], second: pair[1]})
        }
        assert wanted <= {(cell.values()[first], cell.values()[second]) for cell in CELLS}


def test_every_value_of_a_quick_dimension_is_in_the_core() -> None:
    for name, values in QUICK.items():
        assert {cell.values()[name] for cell in CORE} == set(values)


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, marks=() if cell in CORE else pytest.mark.thorough) for cell in CELLS], ids=str
)
def test_the_program_with_us_is_the_program_without_us(lab: Lab, cell: Cell) -> None:
    found = lab.try_cell(cell).result()
    assert not found, "\n".join(map(str, found))
