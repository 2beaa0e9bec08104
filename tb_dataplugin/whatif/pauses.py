"""Time in steps that is no part of the loop: its own DataLoader is asked for nothing, and its workers build ahead."""

from __future__ import annotations

from typing import NamedTuple

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.model.intervals import Intervals, int64
from tb_dataplugin.whatif.loop import Floats


class Pauses(NamedTuple):
    """Per step, in ns: data wait for what is not annotated, or for another loader that most steps draw from; and waits
    for other DataLoaders, and for full collections of garbage, that are told apart, with the work between these waits.
    `between_ns`: all such work, also where workers have nothing to build meanwhile. `away_ns`: what comes
    again like `paused_ns`, and fell between two epochs.
    """

    beside_ns: Floats
    paused_ns: Floats
    between_ns: Floats
    away_ns: Floats


def find_pauses(results: Results) -> Pauses:
    rows = results.steps.rows if results.steps else ()
    begin = int64([row.start_ns for row in rows])
    end = begin + int64([row.duration_ns for row in rows])
    apart = results.loop.apart
    has_workers = results.settings is not None and bool(results.settings.num_workers)
    use = results.use
    beside = (use.elsewhere if has_workers else Intervals.union_of((use.beside, use.zipped))).minus(apart.waits)
    ahead = apart.ahead.minus(beside)
    parts = (beside, ahead, apart.between, apart.recurring.minus(Intervals.union_of((ahead, beside))))
    return Pauses(*(part.overlap(begin, end).astype(float) for part in parts))
