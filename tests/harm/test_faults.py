"""A fault of ours is one warning, and the training goes on; Ctrl-C in our code ends it as Ctrl-C in the user's does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.harm.cells import Cell
from tests.harm.compare import differences
from tests.harm.faults import FAULTS, INTERRUPTED, WHERE, find
from tests.harm.lab import Lab

CELLS = [
    pytest.param(replace(cell, fault=name), id=name, marks=pytest.mark.thorough if number % 10 else ())
    for cell, names in WHERE.values()
    for number, name in enumerate(names)
]
"""One of ten of those that a program meets while it does the same; at least one."""


INTERRUPTIONS = [
    replace(FAULTS[name], fault=name, interrupted=True, ending="interrupt", phase="after") for name in INTERRUPTED
]
AFTERWARDS = ("instances", "types", "open_files", "threads", "at_exit", "exit_status", "processes")


def test_every_function_that_we_let_fail_is_there() -> None:
    for name in FAULTS:
        find(name)


@pytest.mark.parametrize("cell", CELLS)
def test_a_fault_of_ours_is_one_warning_and_the_training_goes_on(lab: Lab, cell: Cell) -> None:
    without, ours = lab.without_us(cell.program()).result(), lab.with_us(cell).result()
    assert ours.told.get("hit"), f"{cell.fault} is not called in this program: choose another cell for it"
    found = differences(cell, without, ours)
    assert not found, "\n".join(map(str, found))


@pytest.mark.one_of(2)
@pytest.mark.parametrize("cell", INTERRUPTIONS, ids=[cell.fault for cell in INTERRUPTIONS])
def test_ctrl_c_in_our_code_ends_the_program_and_leaves_nothing(lab: Lab, cell: Cell) -> None:
    without, ours = lab.without_us(cell.program()).result(), lab.with_us(cell).result()
    assert ours.told.get("hit"), f"{cell.fault} is not called in this program: choose another cell for it"
    assert ours.raised[0][0] == "builtins.KeyboardInterrupt"
    kept = [one for one in differences(cell, without, ours) if one.field in (*AFTERWARDS, "temporary_files")]
    assert not kept, "\n".join(map(str, kept))
    assert ours.changes.items() <= without.changes.items()  # what torch changes later on may not have been reached
