"""How many batches lie ready in a torch iterator with DataLoader workers, from its own bookkeeping."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from annotate.workers.batches import Iteration


def counter_of(iterator: Any, iteration: Iteration) -> Callable[[Any], int] | None:
    """Counts the batches of an iterator that workers have finished and the loop does not have yet, some 0.3 us a time.
    None: not known of this kind, or on this system.

    The counter is given the iterator each time, and keeps none of it alive but a semaphore.
    """
    module = sys.modules.get("torch.utils.data.dataloader")
    if module is None or iteration.iterable or not isinstance(iterator, module._MultiProcessingDataLoaderIter):
        return None  # the markers by which workers of iterable datasets end lie in the same queue
    counter: Callable[[Any], int] | None = None
    with suppress(Exception):  # private names of torch's and Python's; macOS cannot look into the semaphore
        queue = iterator._worker_result_queue
        counter = _counter(queue._maxsize, queue._sem._semlock._get_value, pins=iterator._pin_memory)
        counter(iterator)
        return counter
    return None


def _counter(most: int, free: Callable[[], int], *, pins: bool) -> Callable[[Any], int]:
    """`free`: places in the workers' queue, of `most`."""

    def lie_ready(iterator: Any) -> int:
        """Those in the workers' queue, and those that were received before their turn."""
        early: int = len(iterator._task_info) - iterator._tasks_outstanding
        return most - free() + early

    def lie_ready_pinned(iterator: Any) -> int:
        """And those that torch's pinning thread has done; not the one that it is at."""
        return len(iterator._data_queue.queue) + lie_ready(iterator)

    return lie_ready_pinned if pins else lie_ready
