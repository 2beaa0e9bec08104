"""Steps that stand out at regular distances by chance: each takes a batch with a slow sample, drawn at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from tb_dataplugin.analyses.call_kinds import SLOW
from tb_dataplugin.analyses.inner_loops import Rhythm, find_inner_loops
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sawtooth import LONE_SHARE, LoneWait, Sawtooth, find_lone_wait
from tb_dataplugin.analyses.worker_collections import long_collections

INNER_SHARE: Final = 0.1
"""Of the data wait, from which loops inside steps make a difference to the means of all steps that is worth a word."""

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


def find_leading_rhythm(results: Results) -> Rhythm | None:
    """What is said of all these. Loops inside steps come first where they have much of the data wait, else last: also
    a part of it is not what the means tell of the others.
    """
    inner = find_inner_loops(results)
    if inner is not None and inner.share >= LONE_SHARE:
        return inner
    found = results.sawtooth or find_lone_step(results)
    is_said = found is not None and not (isinstance(found, Sawtooth) and found.of_workers)
    return found if is_said or inner is None or inner.share < INNER_SHARE else inner


def find_lone_step(results: Results) -> LoneWait | None:
    """The one step with much of the data wait, and whether a long collection of garbage held up its batch."""
    found = find_lone_wait(results.steps) if results.steps else None
    pipeline, workers = results.trace.info.pipeline, results.workers
    if found is None or results.steps is None or workers is None or pipeline is None or pipeline.batch_costs is None:
        return found
    table, batches = workers.batches.table, _batches_of(results, found.step)
    is_its = [batch in batches for batch in zip(table.epoch.tolist(), table.number.tolist(), strict=True)]
    is_its = np.array(is_its, dtype=np.bool_) & (table.loader == results.use.in_workers)
    collected_ns = int(long_collections(table, pipeline.batch_costs)[is_its].max(initial=0))
    waited_ns = next(row.data_wait_ns or 0 for row in results.steps.rows if row.number == found.step)
    return replace(found, collected_ns=collected_ns) if 2 * collected_ns >= waited_ns else found


def _batches_of(results: Results, number: int) -> list[tuple[int, int]]:
    """Epochs and numbers of the batches that the step took."""
    steps, workers = results.steps, results.workers
    if steps is None or workers is None:
        return []
    row, batches = next(row for row in steps.rows if row.number == number), workers.batches
    mine = (batches.table.loader == results.use.in_workers) & known(batches.wait_end_ns)
    mine &= (batches.wait_end_ns > row.start_ns) & (batches.wait_end_ns <= row.start_ns + row.duration_ns)
    return [(int(batches.table.epoch[at]), int(batches.table.number[at])) for at in np.flatnonzero(mine)]
