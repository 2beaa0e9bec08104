"""What a followed batch costs while no profiler is at work, caches warm: CPU time of our code alone, in one process.

    python benchmarks/standing_warm.py

A batch's way as torch has it, without the processes: its indices are drawn, pickled, unpickled, made into a batch, and
that is pickled and unpickled; once plain, once with what a followed loader puts around each of these. Printed is the
least of 9 rounds of each. Real batches find the caches cold, and take a multiple (`recording_costs.py`).
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

from annotate.hooks.collating import Collate
from annotate.workers import naps, transport, worker_side
from annotate.workers.batches import Iteration, TaggingIterator
from annotate.workers.content import Place
from annotate.workers.standing import StandingEpoch, StandingWorkers
from annotate.workers.transport import NOTHING_WANTED, Tag

BATCHES = 3000


def indices() -> Iterator[list[int]]:
    return iter([[number] for number in range(BATCHES)])


def collated(batch: object) -> int:
    return 5


def travel(drawn: Iterator[Any], collate: Callable[[Any], Any]) -> float:
    """CPU microseconds for each batch."""
    begin = time.thread_time()
    for number in range(BATCHES):
        _, there = pickle.loads(ForkingPickler.dumps((number, _process_data(drawn))))
        pickle.loads(ForkingPickler.dumps((number, collate(there))))
    return (time.thread_time() - begin) / BATCHES * 1e6


def _process_data(drawn: Iterator[Any]) -> Any:
    """Named as torch's method in which a draw is for a batch."""
    return next(drawn)


def followed(*, asleep: bool) -> float:
    """Of one round.

    Args:
        asleep: False: with tags and facts, as while a profiler prepares.
    """
    workers = StandingWorkers()
    iteration = Iteration(0, in_order=True, iterable=False, has_workers=True)
    epoch = StandingEpoch(workers.batches, iteration, 0, 0, workers)
    iteration.listeners.append(epoch)
    iteration.is_starting = False
    if asleep:
        epoch.fall_asleep()
    works = worker_side.Worker(Place(0, 0), 0, 1, [], sleep=naps.Naps(2, lambda: True))
    works.begin(Tag(0, 0, NOTHING_WANTED))
    works.finish(None)
    transport.begun, worker_side.current = works.begin, works
    transport.arrived = lambda facts, payload: iteration.arrive(time.perf_counter_ns(), facts, payload)
    return travel(TaggingIterator(indices(), iteration, None), worker_side.WorkerCollate(Collate(collated)))


def main() -> None:
    plain = min(travel(indices(), collated) for _ in range(9))
    print(f"plain {plain:.1f} us a batch")
    for name, asleep in (("tagged", False), ("asleep", True)):
        print(f"{name}: {min(followed(asleep=asleep) for _ in range(9)) - plain:+.1f} us")


if __name__ == "__main__":
    main()
