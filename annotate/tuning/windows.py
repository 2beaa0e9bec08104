"""Short windows of a loop over a loader, with a training step that only takes time."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotate.hooks.loaders import is_iterable
from annotate.loop_windows import LEAST, LONGEST, SETTLING, Delivered, batch_bytes, worker_bytes
from annotate.tuning.rebuilding import NotTunable

SEED: Final = 0
KEPT: Final = 4
"""Batches in memory."""


@dataclass(frozen=True, slots=True)
class Step:
    """A training step: `ms` long, of which the share `cpu` keeps a CPU busy, and the rest sleeps as for a device.

    `device`: batches are copied there first, and the copies have to be done within the window.
    """

    ms: float = 0.0
    cpu: float = 0.0
    device: str = ""

    def __call__(self, batch: Any) -> None:
        if self.device:
            _copy(batch, self.device)
        end = time.perf_counter() + self.ms / 1e3
        if self.ms * (1 - self.cpu) > 0:
            time.sleep(self.ms * (1 - self.cpu) / 1e3)
        while time.perf_counter() < end:
            pass

    def finish(self) -> None:
        """Until the copies are done."""
        if self.device:
            import torch

            torch.ones(1).to(self.device).item()


def _copy(batch: Any, device: str) -> None:
    """All tensors in it, as loops do: without blocking."""
    if callable(getattr(batch, "to", None)):
        batch.to(device, non_blocking=True)
    elif isinstance(batch, Mapping):
        for part in batch.values():
            _copy(part, device)
    elif isinstance(batch, Sequence) and not isinstance(batch, (str, bytes)):
        for part in batch:
            _copy(part, device)


class Epochs:
    """Batches of a loader, epoch after epoch."""

    def __init__(self, loader: Any, through: Callable[[Any], Any] = lambda loader: loader) -> None:
        """
        Args:
            through: what is iterated in place of the loader.
        """
        self.ended = 0
        self.delivered = Delivered(int(loader.num_workers) if is_iterable(loader) else 0)
        self._loader, self._through = loader, through

    def __iter__(self) -> Iterator[Any]:
        while True:
            is_empty = True
            for batch in self._through(self._loader):
                is_empty = False
                self.delivered.saw(batch)
                yield batch
            if is_empty:
                raise NotTunable(f"the {type(self._loader).__name__} gives no batch; is its dataset empty?")
            self.ended += 1
            self.delivered.ended()


def timed_window(loader: Any, step: Step, seconds: float, count: int = 0) -> dict[str, float]:
    """Of the loop in its steady state, in seconds: `total` for `batches`, of which the loop waited `wait`.

    An epoch that ends within the window counts with what it costs to begin the next.

    Args:
        count: batches, whatever they take; 0: as many as there are in `seconds`.
    """
    workers = int(loader.num_workers)
    epochs = Epochs(loader)
    batches = iter(epochs)
    for _ in range(SETTLING + 2 * workers):
        step(next(batches))
    step.finish()
    ended, timed = epochs.ended, _timed(batches, step, seconds, LEAST + 2 * workers, count)
    return {**timed, "epochs": epochs.ended - ended, "worker_bytes": worker_bytes(), **epochs.delivered.facts()}


def _timed(batches: Iterator[Any], step: Step, seconds: float, least: int, exactly: int) -> dict[str, float]:
    batch, waited, count = None, 0.0, 0
    began = now = time.perf_counter()
    while _goes_on(count, now - began, seconds, least, exactly):
        batch = next(batches)
        waited += time.perf_counter() - now
        step(batch)
        count, now = count + 1, time.perf_counter()
    step.finish()
    total = time.perf_counter() - began
    return {"batches": count, "total": total, "wait": waited, "batch_bytes": batch_bytes(batch)}


def _goes_on(count: int, passed: float, seconds: float, least: int, exactly: int) -> bool:
    if exactly:
        return count < exactly
    return (passed < seconds or count < least) and passed < LONGEST * seconds


def same_window(loader: Any, step: Step, seconds: float, count: int = 0) -> dict[str, float]:
    """`timed_window`, of the same samples each time: as far as their order follows from torch's random numbers, or
    Python's, or numpy's.
    """
    import torch

    torch.manual_seed(SEED)
    random.seed(SEED)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(SEED)
    if loader.generator is not None:
        loader.generator.manual_seed(SEED)
    return timed_window(loader, step, seconds, count)


def loaderless_window(loader: Any, step: Step, count: int) -> dict[str, float]:
    """The same loop with batches from memory: a few of the loader's, over and over."""
    kept = list(itertools.islice(Epochs(loader), KEPT))
    for batch in kept:
        step(batch)
    step.finish()
    return {**_timed(itertools.cycle(kept), step, 0.0, 0, count), "epochs": 0, "worker_bytes": 0.0}


def recorded_window(loader: Any, step: Step, batches: int, logdir: str) -> str:
    """A capture of so many steps of the same loop; its path. Raises RuntimeError where none was written."""
    import annotate

    annotate.loader(loader)
    settling = SETTLING + 2 * int(loader.num_workers)
    with annotate.profile(logdir, wait=settling, warmup=2, active=batches, verdict=False) as prof:
        for number, batch in enumerate(Epochs(loader, prof.steps)):
            step(batch)
            if number >= settling + 2 + batches + 1:
                break
    if not prof.trace_files:
        raise RuntimeError("the capture wrote no trace")
    return prof.trace_files[-1]
