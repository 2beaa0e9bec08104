"""NVIDIA DALI has no CPU build: an iterator with the interface of its ``DALIClassificationIterator``."""

from __future__ import annotations

import queue
import threading
from pathlib import Path
from typing import Any

import torch

from tests.ecosystem.pipeline import BATCH, SECONDS, SIZE, Pipeline, slow


class DALIClassificationIterator:
    """Batches as lists of one dictionary per pipeline, made by threads that Python knows nothing of in the real one."""

    def __init__(self) -> None:
        self._batches: queue.Queue[Any] = queue.Queue(2)
        self._ended = False
        self.batch_size = BATCH
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for first in range(0, SIZE, BATCH):
            for _ in range(BATCH):
                slow(SECONDS)
            data = torch.arange(first, first + BATCH).float()
            self._batches.put([{"data": data, "label": data.long() % 10}])
        self._batches.put(None)

    def __iter__(self) -> DALIClassificationIterator:
        return self

    def __next__(self) -> Any:
        batch = None if self._ended else self._batches.get()
        if batch is None:
            self._ended = True
            raise StopIteration
        return batch

    next = __next__

    def __len__(self) -> int:
        return SIZE // BATCH

    def reset(self) -> None:
        pass


def iterator(folder: Path) -> Any:
    return DALIClassificationIterator()


PIPELINES = (
    Pipeline("DALI's interface", "DALIClassificationIterator", iterator, "wait::DALIClassificationIterator"),
)
