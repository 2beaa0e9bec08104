"""What of the window's epochs a simulation plays, and what of them is in the step that it is compared with."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.whatif.loop import Epoch, Rows

MOST_BATCHES: Final = 480
"""Of a longer epoch each worker's part is thinned out alike: the simulation needs its shape."""


def find_epochs(results: Results, rows: Rows) -> tuple[Epoch, ...]:
    """`Loop.epochs`. `rows`: of the batch table, in the order of `Loop.build`. In the place of a batch that has none
    stands another one of its worker, if there is one.
    """
    parts = results.flow.workers.parts if results.flow.workers else None
    if parts is None:
        return ()
    place = {row: number for number, row in enumerate(rows.tolist())}
    every = tuple(place.values())
    found = []
    for epoch in parts.epochs:
        each = -(-epoch.batches // MOST_BATCHES)
        known_ones = [[place[row] for row in part if row in place] or every for part in epoch.rows]
        found.append(
            tuple(
                tuple(place.get(row, mine[number % len(mine)]) for number, row in enumerate(part[::each]))
                for part, mine in zip(epoch.rows, known_ones, strict=True)
            )
        )
    return tuple(found)


def counts_starts(results: Results) -> bool:
    """Whether the waits for first batches of epochs are in the loop's step, and longer than others: DataLoader workers
    begin with them.
    """
    return not results.loop.apart.epochs and bool(results.settings and results.settings.num_workers)
