"""What became of each cell, in a file: a run of the whole matrix may be cut into pieces, and goes on where it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, astuple
from pathlib import Path
from random import Random
from typing import Final

from tests.harm.cells import Cell, Program
from tests.harm.compare import Difference

Results = dict[Cell, list[Difference]]


class Ledger:
    """One line of JSON for each cell that was tried; of a cell with several, the last one counts."""

    def __init__(self, path: Path | None, commit: str) -> None:
        """
        Args:
            path: None: remember, and write nothing.
            commit: of the code that is tried from now on.
        """
        self._path: Final = path
        self._commit: Final = commit
        self.results: Final[Results] = {}
        self._commits: Final[dict[Cell, str]] = {}
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for line in map(json.loads, lines):
            self._take(Cell(**line["cell"]), [Difference(*one) for one in line["found"]], line["commit"])

    def note(self, cell: Cell, found: list[Difference]) -> None:
        """A cell has been tried."""
        self._take(cell, found, self._commit)
        if self._path is not None:
            line = {"commit": self._commit, "cell": asdict(cell), "found": [astuple(one) for one in found]}
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def commits(self) -> str:
        """Of what code the results are, the most frequent first."""
        counted = Counter(self._commits.values()).most_common()
        return ", ".join(f"{count} at {commit}" for commit, count in counted)

    def _take(self, cell: Cell, found: list[Difference], commit: str) -> None:
        self.results[cell], self._commits[cell] = found, commit


def in_mixed_order(cells: Iterable[Cell]) -> list[Cell]:
    """The same ones in the same order each time: any beginning of it has something of everything.

    Cells of one program stay together, since that is run without us once for all of them.
    """
    programs: dict[Program, list[Cell]] = {}
    for cell in cells:
        programs.setdefault(cell.program(), []).append(cell)
    groups = list(programs.values())
    Random(0).shuffle(groups)
    return [cell for group in groups for cell in group]
