"""Batches at regular distances that take long in a stage, and always come to the same DataLoader worker.

Workers take turns: of N workers, each p-th batch comes to one of them where p is a multiple of N. Whether these take
longer is held against chance: were the same times dealt out to the batches anew, hardly ever would those of any such
distance take so much longer. It is said only of the worker whose batches are finished last, and where what they take
longer adds up to that: while the others wait their turn, it is not made up for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.resampling import Floats
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sawtooth import LEAST_TEETH, Sawtooth, SlowTurns
from tb_dataplugin.model.intervals import Int64Array

DEALT: Final = 999
"""Times that they are dealt out anew."""

BY_CHANCE: Final = 0.01
"""Part of these that may come as far, of all stages together."""

MOST_BATCHES: Final = 1000
"""That are looked at, from the first one on."""

MOST_ROUNDS: Final = 8
"""Of one batch of each worker, up to which distances are looked at."""


def with_slow_turns(results: Results, found: Sawtooth | None) -> Sawtooth | None:
    """`found` with the stage that takes long in each so many batches of its worker, where that is known."""
    if found is None or found.late is None or found.worker is None or results.workers is None:
        return found
    table = results.workers.batches.table
    mine = (table.loader == results.use.in_workers) & known(table.started_ns) & known(table.finished_ns)
    rows = np.flatnonzero(mine)[:MOST_BATCHES]
    numbers, workers = table.number[rows], table.worker[rows]
    keys = zip(table.epoch[rows].tolist(), numbers.tolist(), strict=True)
    batch = {key: place for place, key in enumerate(keys)}
    times = _times_by_stage(results, batch)
    turns = []
    for stage, spent in times.items():
        one = find_turns(spent, numbers, workers, found.worker, found.period, len(times))
        if one is not None and one.count * (one.slow_ns - one.others_ns) >= found.late.by_ns:
            turns.append(replace(one, stage=stage))
    return replace(found, turns=max(turns, key=lambda one: one.slow_ns - one.others_ns, default=None))


def _times_by_stage(results: Results, batch: dict[tuple[int, int], int]) -> dict[str, Floats]:
    """Self time (ns) by batch, by name of the stage, of all DataLoader workers of the training loop's loader."""
    tree, facts = results.tree, results.trace.span_facts
    tracks = [track for track, one in results.trace.worker_tracks().items() if one.loader == results.use.in_workers]
    spans = np.flatnonzero(np.isin(tree.track, tracks))
    keys = zip(facts.epoch[spans].tolist(), facts.batch[spans].tolist(), strict=True)
    place = np.array([batch.get(key, -1) for key in keys], dtype=np.int64)
    spans, place = spans[place >= 0], place[place >= 0]
    found: dict[str, Floats] = {}
    for node in np.unique(tree.node[spans]).tolist():
        name, its = tree.paths[node][-1].name, tree.node[spans] == node
        spent = np.bincount(place[its], tree.self_ns[spans[its]], minlength=len(batch))
        found[name] = found[name] + spent if name in found else spent.astype(np.float64)
    return found


def find_turns(
    spent: Floats, number: Int64Array, worker: Int64Array, late: int, workers: int, stages: int
) -> SlowTurns | None:
    """By batch: `spent` (ns), its number, and its worker. `late`: the worker whose batches these have to be. None where
    it may be chance, for so many `stages` that are looked at, or where all batches of the worker take longer.
    """
    longest = min(MOST_ROUNDS * workers, len(number) // LEAST_TEETH)
    groups = [
        (period, number % period == phase) for period in range(workers, longest + 1, workers) for phase in range(period)
    ]
    groups = [(period, its) for period, its in groups if LEAST_TEETH <= its.sum() < len(its)]
    if not groups or not spent.std():
        return None
    weight = np.array([_contrast(its) for _, its in groups])
    values, random = (spent - spent.mean()) / spent.std(), np.random.default_rng(len(spent))
    dealt = np.array([random.permutation(values) for _ in range(DEALT)])
    far = weight @ values
    best = int(far.argmax())
    by_chance = (1 + int(((dealt @ weight.T).max(axis=1) >= far[best] * (1 - 1e-9)).sum())) / (1 + DEALT)
    period, its = groups[best]
    if by_chance * stages > BY_CHANCE or period == workers or (worker[its] != late).any():
        return None
    return SlowTurns(period, int(its.sum()), float(spent[its].mean()), float(spent[~its].mean()))


def _contrast(its: npt.NDArray[np.bool_]) -> Floats:
    """Of a sum of values, what makes it the difference of both means in units of its standard error."""
    inside, outside = int(its.sum()), int((~its).sum())
    found: Floats = np.where(its, 1 / inside, -1 / outside) * np.sqrt(inside * outside / len(its))
    return found
