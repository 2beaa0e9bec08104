"""As ``nvidia.dali.plugin.pytorch``."""

from __future__ import annotations

from typing import Any

from nvidia.dali.pipeline import Pipeline


class DALIGenericIterator:
    """Batches as lists of one dictionary per pipeline."""

    def __init__(self, pipelines: list[Pipeline], batch_size: int, size: int) -> None:
        self._pipelines = pipelines
        self._ended = False
        self.batch_size = batch_size
        self._size = size

    def __iter__(self) -> DALIGenericIterator:
        return self

    def __next__(self) -> Any:
        batches = [None if self._ended else each.share_outputs() for each in self._pipelines]
        if None in batches:
            self._ended = True
            raise StopIteration
        return batches

    def __len__(self) -> int:
        return self._size // self.batch_size


class DALIClassificationIterator(DALIGenericIterator):
    pass
