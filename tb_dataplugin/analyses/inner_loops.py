"""Steps that ask for many batches where the others ask for one, or for as many as gradients are accumulated over: an
evaluation of the training loop's own DataLoader, or another loop whose batches are no steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sawtooth import LoneWait, Sawtooth
from tb_dataplugin.model.intervals import Int64Array, int64

FEWEST_STEPS: Final = 3
"""Of two steps nobody knows which one is the usual one."""


@dataclass(frozen=True, slots=True)
class InnerLoops:
    """`steps`: their numbers; `asked`: how often each asked for a batch, ends of epochs included, where a step usually
    does so `usual` times. `share`: of the data wait that is not told apart. `left`: of all that was asked for, what the
    other steps have.
    """

    steps: tuple[int, ...]
    asked: tuple[int, ...]
    usual: int
    share: float
    left: float
    is_partial: bool
    """Data wait that is told apart is left out of all of it."""


Rhythm = Sawtooth | LoneWait | InnerLoops
"""What means of all steps do not show."""


def find_inner_loops(results: Results) -> InnerLoops | None:
    """A step that takes over the batches that an epoch left of another one, or passes over one, has fewer than twice as
    many as a step usually has, and asks once more at the epoch's end: only what is beyond that counts.
    """
    if results.steps is None or results.loader is None or results.trace.info.mode == "replay":
        return None
    rows, asked = results.steps.rows, _asked(results)
    usual = int(np.median(asked)) if len(rows) >= FEWEST_STEPS else 0
    if usual < 1:
        return None
    found = np.flatnonzero(asked > 2 * usual + 1).tolist()
    waits = [(row.data_wait_ns or 0) - row.apart_ns for row in rows]
    whole = sum(waits)
    if not found or whole <= 0:
        return None
    return InnerLoops(
        steps=tuple(rows[place].number for place in found),
        asked=tuple(int(asked[place]) for place in found),
        usual=usual,
        share=sum(waits[place] for place in found) / whole,
        left=1 - float(asked[found].sum() / asked.sum()),
        is_partial=any(row.apart_ns for row in rows),
    )


def without_inner_loops(rhythm: Sawtooth | None, found: InnerLoops | None) -> Sawtooth | None:
    """Steps that wait at regular distances, where such a loop in each of them is not why."""
    return None if rhythm and found and set(rhythm.steps) <= set(found.steps) else rhythm


def _asked(results: Results) -> Int64Array:
    """Per step, how often the loop's DataLoader was; without ``iter(loader)``."""
    assert results.steps is not None and results.loader is not None
    waits, use = results.loader.waits, results.use
    mine = np.isin(use.of_wait, list(use.loops)) & (results.loader.made.overlap(waits.start, waits.end) == 0)
    start = waits.start[mine]
    begin = int64([row.start_ns for row in results.steps.rows])
    end = begin + int64([row.duration_ns for row in results.steps.rows])
    return int64(np.searchsorted(start, end) - np.searchsorted(start, begin))
