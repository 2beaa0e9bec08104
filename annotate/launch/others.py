"""Loops over iterators that are none of torch's: torchdata's Loader of nodes, SPDL's pipelines, DALI's iterators.

Their libraries are hooked before the first batch, since a pipeline reads its functions as it begins, and stay quiet
until a window opens. As soon as the process iterates a DataLoader its batches are what counts, and theirs do not.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, NamedTuple

from annotate.hooks import libraries
from annotate.launch.turns import Source
from annotate.saying import guard
from annotate.workers.standing import StandingWorkers

_LOST: Final = "annotate does not record the loop of a library's own iterator"


class Iterated(NamedTuple):
    """In the place of an epoch: of such an iterator nobody knows how many batches it will give."""

    loader: int = -1
    epoch: int = 0


ITERATED: Final = Iterated()


class Others:
    """Tells of the batches that they hand out."""

    def __init__(self, workers: StandingWorkers, batch: Callable[[Source], None]) -> None:
        """
        Args:
            batch: called for each of them, in the thread that has got it.
        """
        self._workers = workers
        self._tell = batch

    def begin(self) -> None:
        """Hook the libraries that are there, and listen. Called again it hooks them for the next window."""
        with guard(_LOST):
            libraries.begin_early(self._batch)

    def end(self) -> None:
        """Listen no more. Harmless when it does not."""
        with guard(_LOST):
            libraries.end_early()

    def _batch(self) -> None:
        with guard(_LOST):
            workers = self._workers
            if workers.loaders.settings:
                return
            if workers.is_armed and workers.on_batch is not None:
                workers.on_batch(perf_counter_ns())
            self._tell(ITERATED)
