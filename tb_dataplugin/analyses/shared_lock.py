"""A lock that DataLoader workers share: while one has it, the others that want it wait, however many there are.

Which lines wait for one, their text or the stack says (`line_patterns`). A call to a database is blocked by a lock, or
by a disk; that it is a lock, the other workers say: hardly ever is none of them at work meanwhile (`exclusion`).

Of a worker's time some is waiting for the lock (by stack samples of the line), some is having it, the rest needs
neither. How long it has the lock no stack says; but in a closed queue of so many workers one length leads to the wait
that was seen (mean value analysis, M. Reiser and S. S. Lavenberg, 1980). The same analysis says how long another number
of workers would wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotate.trace_format import THREAD_STATES, Stage
from tb_dataplugin.analyses.code_places import home_of, inside_stage
from tb_dataplugin.analyses.exclusion import exclude_each_other
from tb_dataplugin.analyses.line_patterns import ACQUIRES, WRITES_ALONE, Pattern, PatternTime
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.throughput import BUILDING

LEAST_WAITED: Final = 0.1
"""Part of the build time that waits for the lock, at the low end of its interval, from which it is worth a word."""

HALVINGS: Final = 40

_BLOCKED: Final = THREAD_STATES.index("blocked")


@dataclass(frozen=True, slots=True)
class SharedLock:
    """`waited`, `held`: for the lock, and having it, as parts of the time that a worker takes for a batch; `part`: the
    wait's of the stage's time. `row`: the line that waits. `is_of_database`: one that writes has it until it commits.
    """

    stage: Stage
    row: LineRow
    part: float
    waited: float
    held: float
    workers: int
    is_of_database: bool = False

    def waited_with(self, workers: int) -> float:
        """For a batch, in what a batch takes now."""
        if workers == self.workers:
            return self.waited
        return _queue(workers, self.held, max(0.0, 1.0 - self.waited - self.held)) - self.held if workers else 0.0

    def faster_with(self, workers: int) -> float:
        """How many times as many batches so many workers build."""
        return workers / self.workers / (1.0 - self.waited + self.waited_with(workers))


def find_shared_lock(results: Results) -> SharedLock | None:
    """The one that is waited for most; None where there is none, or little of the build time waits for it."""
    workers = (results.settings.num_workers if results.settings else None) or 0
    found = [one for one in _costly(results, "lock") if _is_of_processes(results, one[1])]
    found += [one for one in _costly(results, "database") if _excludes(results, one[1])]
    share, most = max(found, key=lambda one: one[0] * one[1].part.share, default=(0.0, None))
    if workers < 2 or most is None or most.stage is None:
        return None
    waited = min(share * most.part.share, 1 - 1 / workers)  # beyond that, it is being handed over, as good as held
    is_of_database = most.pattern == "database" or bool(WRITES_ALONE.search(most.row.place.source))
    held = _held(waited, workers, _idle(results))
    return SharedLock(most.stage, most.row, most.part.share, waited, held, workers, is_of_database)


def find_possible_lock(results: Results) -> LineRow | None:
    """The line of a call to a database that workers are blocked in, where it is not known whether for one another."""
    found = [each for _, each in _costly(results, "database") if _excludes(results, each) is None]
    is_alone = results.settings is None or (results.settings.num_workers or 0) < 2
    return max(found, key=lambda each: each.row.time_ns).row if found and not is_alone else None


def _costly(results: Results, pattern: Pattern) -> Iterator[tuple[float, PatternTime]]:
    """Those that have enough of the time that workers take for batches, with that part of their stage."""
    spent = {row.stage: 0 for row in results.loop.stages if row.stage.kind in BUILDING}
    for row in results.loop.stages:
        if row.stage in spent:
            spent[row.stage] += row.self_ns
    whole = sum(spent.values())
    for each in results.lines.patterns if results.lines and whole else ():
        share = spent.get(each.stage, 0) / whole if each.stage else 0.0
        if each.pattern == pattern and share * each.part.low >= LEAST_WAITED:
            yield share, each


def _is_of_processes(results: Results, asked: PatternTime) -> bool:
    """Not one that threads of a worker share, of which ``lock.acquire()`` looks alike: that keeps no other worker."""
    return not ACQUIRES.search(asked.row.place.source) or _excludes(results, asked) is not False


def _excludes(results: Results, asked: PatternTime) -> bool | None:
    """Whether a worker that is blocked in that call to a database waits for another; None: not known."""
    pipeline = results.trace.info.pipeline
    if results.lines is None or pipeline is None or pipeline.lines is None:
        return None
    hits, stacks = results.lines.hits, pipeline.lines.stacks
    hits = hits.where(np.isin(hits.track, list(results.trace.worker_tracks())))
    homes = {stack: home_of(inside_stage(stacks.inwards(stack))) for stack in np.unique(hits.stack).tolist()}
    is_there = [(home := homes[stack]) is not None and home.place == asked.row.place for stack in hits.stack.tolist()]
    in_stage = np.append([path[-1].kind != "wait" for path in results.tree.paths], False)[hits.node]
    waits = np.array(is_there, dtype=np.bool_) & (hits.state == _BLOCKED) & in_stage
    return exclude_each_other(hits.track, hits.time_ns, waits, in_stage & ~waits, results.window)


def _idle(results: Results) -> float:
    """Time in which a worker has nothing to build, in what a batch takes it."""
    rows = results.workers.rows if results.workers else ()
    busy, alive = (sum(times) for times in ([row.busy_ns for row in rows], [row.alive_ns for row in rows]))
    return max(0.0, alive / busy - 1) if busy else 0.0


def _held(waited: float, workers: int, idle: float) -> float:
    """For how long a worker has the lock, from how long it waits for it."""
    low, high = 0.0, 1.0 - waited
    for _ in range(HALVINGS):
        held = (low + high) / 2
        is_less = _queue(workers, held, 1.0 - waited - held + idle) - held < waited
        low, high = (held, high) if is_less else (low, held)
    return high


def _queue(workers: int, held: float, elsewhere: float) -> float:
    """How long one of so many takes to get the lock and to have it, with `elsewhere` before it wants it again."""
    queued, takes = 0.0, held
    for number in range(1, workers + 1):
        takes = held * (1 + queued)
        queued = number * takes / (takes + elsewhere) if takes + elsewhere else 0.0
    return takes
