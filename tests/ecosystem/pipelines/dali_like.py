"""NVIDIA DALI has no CPU build: modules with the interface of its Pipeline and of its iterator for PyTorch."""

from __future__ import annotations

import queue
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tests.ecosystem.pipeline import ASLEEP, BATCH, PROFILED, SIZE, Pipeline, slow


class DALIPipeline:
    """As ``nvidia.dali.pipeline.Pipeline``: its own threads make batches, `share_outputs` waits for one."""

    def __init__(self) -> None:
        self._batches: queue.Queue[Any] = queue.Queue(2)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        for first in range(0, SIZE, BATCH):
            for _ in range(BATCH):
                slow(first)
            data = torch.arange(first, first + BATCH).float()
            self._batches.put({"data": data, "label": data.long() % 10})
        self._batches.put(None)

    def share_outputs(self) -> Any:
        return self._batches.get()


class DALIGenericIterator:
    """As that of ``nvidia.dali.plugin.pytorch``: batches as lists of one dictionary per pipeline."""

    def __init__(self, pipelines: list[Any]) -> None:
        self._pipelines = pipelines
        self._ended = False
        self.batch_size = BATCH

    def __iter__(self) -> DALIGenericIterator:
        return self

    def __next__(self) -> Any:
        batches = [None if self._ended else each.share_outputs() for each in self._pipelines]
        if None in batches:
            self._ended = True
            raise StopIteration
        return batches

    def __len__(self) -> int:
        return SIZE // BATCH


class DALIClassificationIterator(DALIGenericIterator):
    pass


DALIPipeline.__name__ = "Pipeline"
for _name, _class in (("nvidia.dali.pipeline", DALIPipeline), ("nvidia.dali.plugin.pytorch", DALIGenericIterator)):
    _module = sys.modules.setdefault(_name, ModuleType(_name))
    setattr(_module, _class.__name__, _class)


def iterator(folder: Path) -> Any:
    return DALIClassificationIterator([DALIPipeline()])


PIPELINES = (
    Pipeline(
        "DALI's interface",
        "DALIClassificationIterator",
        iterator,
        "transform::DALI.Pipeline",
        ways=PROFILED,
        unseen=ASLEEP,
    ),
)
