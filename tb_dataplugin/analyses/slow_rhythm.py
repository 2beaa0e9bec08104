"""Steps that stand out at regular distances by chance: each takes a batch with a slow sample, drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.call_kinds import SLOW
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sawtooth import Sawtooth

AT_RANDOM: Final = "RandomSampler"


def with_slow_samples(results: Results) -> Sawtooth | None:
    """The rhythm of the steps, with the samples that are why."""
    found, settings, habit = results.sawtooth, results.settings, results.samples.habits.get(results.use.in_workers)
    if found is None or found.of_workers or habit is None or settings is None or settings.sampler != AT_RANDOM:
        return found
    slow: dict[tuple[int, int], int] = {}
    for sample in results.samples.slowest:
        is_slow = sample.index >= 0 and sample.duration_ns - sample.collected_ns >= SLOW * habit.median_ns
        if is_slow and sample.loader == results.use.in_workers:
            slow.setdefault((sample.epoch, sample.batch), sample.index)
    taken = [_batches_of(results, number) for number in found.steps]
    named = [next((slow[batch] for batch in batches if batch in slow), -1) for batches in taken]
    return found if -1 in named else replace(found, slow=tuple(dict.fromkeys(named)))


def _batches_of(results: Results, number: int) -> list[tuple[int, int]]:
    """Epochs and numbers of the batches that the step took."""
    steps, workers = results.steps, results.workers
    if steps is None or workers is None:
        return []
    row, batches = next(row for row in steps.rows if row.number == number), workers.batches
    mine = (batches.table.loader == results.use.in_workers) & known(batches.wait_end_ns)
    mine &= (batches.wait_end_ns > row.start_ns) & (batches.wait_end_ns <= row.start_ns + row.duration_ns)
    return [(int(batches.table.epoch[at]), int(batches.table.number[at])) for at in np.flatnonzero(mine)]
