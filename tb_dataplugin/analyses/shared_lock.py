"""A lock that DataLoader workers share: while one has it, the others that want it wait, however many there are.

Of a worker's time some is waiting for the lock (by stack samples of the line), some is having it, the rest needs
neither. How long it has the lock no stack says; but in a closed queue of so many workers one length leads to the wait
that was seen (mean value analysis, M. Reiser and S. S. Lavenberg, 1980). The same analysis says how long another number
of workers would wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.analyses.line_rows import LineRow
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.throughput import BUILDING

LEAST_WAITED: Final = 0.1
"""Part of the build time that waits for the lock, at the low end of its interval, from which it is worth a word."""

HALVINGS: Final = 40


@dataclass(frozen=True, slots=True)
class SharedLock:
    """`waited`, `held`: for the lock, and having it, as parts of the time that a worker takes for a batch; `part`: the
    wait's of the stage's time. `row`: the line that waits.
    """

    stage: Stage
    row: LineRow
    part: float
    waited: float
    held: float
    workers: int

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
    spent = {row.stage: 0 for row in results.loop.stages if row.stage.kind in BUILDING}
    for row in results.loop.stages:
        if row.stage in spent:
            spent[row.stage] += row.self_ns
    whole = sum(spent.values())
    if workers < 2 or results.lines is None or not whole:
        return None
    found = [
        (spent[each.stage] / whole, each)
        for each in results.lines.patterns
        if each.pattern == "lock" and each.stage in spent
    ]
    share, most = max(found, key=lambda one: one[0] * one[1].part.share, default=(0.0, None))
    if most is None or most.stage is None or share * most.part.low < LEAST_WAITED:
        return None
    waited = min(share * most.part.share, 1 - 1 / workers)  # beyond that, it is being handed over, as good as held
    return SharedLock(most.stage, most.row, most.part.share, waited, _held(waited, workers, _idle(results)), workers)


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
