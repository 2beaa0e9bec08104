"""A run of the matrix that is cut into pieces goes on where it was, and tells of what code its results are."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from tests.harm.cells import DIMENSIONS, Cell, every, under_run
from tests.harm.compare import Difference
from tests.harm.ledger import Ledger, in_mixed_order


def test_the_next_piece_knows_what_was_tried_before(tmp_path: Path) -> None:
    first, second = Cell("map"), Cell("persistent", ending="break")
    path = tmp_path / "ledger"
    piece = Ledger(path, "aaa")
    piece.note(first, [Difference("threads", "1", "2")])
    piece.note(second, [])
    again = Ledger(path, "bbb")
    assert again.results == piece.results
    again.note(first, [])
    last = Ledger(path, "bbb")
    assert last.results == {first: [], second: []}
    assert last.commits() == "1 at bbb, 1 at aaa"


def test_any_beginning_of_the_matrix_has_something_of_everything() -> None:
    cells = list(every())
    mixed = in_mixed_order(cells)
    assert sorted(map(str, mixed)) == sorted(map(str, cells))
    assert mixed == in_mixed_order(cells)
    programs = [program for program, _ in groupby(mixed, Cell.program)]
    assert len(programs) == len(set(programs))
    for name in ("profilers", "phase", "ending"):
        assert {cell.values()[name] for cell in mixed[:300]} == set(DIMENSIONS[name])


def test_under_run_each_program_is_tried_once_in_each_of_our_ways() -> None:
    cells = under_run(every())
    assert len(cells) == len(set(cells))
    assert {cell.marks for cell in cells} == {"run"}
