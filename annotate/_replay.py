"""`replay`: loads batches in this process as worker 0 would, so that every stage of the pipeline shows in the trace."""

from __future__ import annotations

import copy
import os
import random
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from annotate import _spans
from annotate._collate import collate
from annotate._loader import loader as annotate_loader
from annotate._profile import Profile
from annotate._rng import Snapshot
from annotate.options import CaptureOptions, absolute

if TYPE_CHECKING:
    from torch.profiler import ProfilerAction

HOW_IT_DIFFERS: Final = (
    "A replay loads the batches one after the other in the main process with one torch thread and no training step: "
    "trust the shares of the stages, not the wall-clock time; several workers run side by side, compete for cores and "
    "disk, and pass each batch through shared memory, and files read before may come from the page cache."
)

_NEEDED: Final = ("dataset", "collate_fn", "num_workers")


def replay(loader: Any, logdir: str | os.PathLike[str], batches: int = 16, *, progress: bool = True) -> str:
    """Load the next `batches` batches of `loader` with zero workers, record every stage, and return the trace's path.

    The batches are those that ``iter(loader)`` would give now, in that order, prepared as worker 0 of the loader would
    prepare them: its seed, its worker info, ``worker_init_fn``, one torch thread, its shard of an iterable dataset.
    Settings that zero workers refuse are dropped. The loader and the program's random state are left as they were.
    Each batch is a profiler step.

    Args:
        loader: a DataLoader, annotated or not.
        logdir: folder of the run; created when it does not exist.
        batches: how many to load; fewer when the loader has fewer.
        progress: say on stderr how a replay differs, and on a terminal show how far it is.

    Raises:
        TypeError: `loader` is no DataLoader.
        ValueError: `batches` is not positive, or the loader gives no batch.
        OSError: the folder cannot be written.
        RuntimeError: another capture is running.
        Exception: whatever the dataset raises, unchanged.
    """
    missing = [name for name in _NEEDED if not hasattr(loader, name)]
    if missing:
        raise TypeError(f"annotate.replay takes a DataLoader: {type(loader).__name__} has no {', '.join(missing)}")
    if batches < 1:
        raise ValueError(f"batches must be at least 1, and is {batches}")
    options = CaptureOptions(logdir=absolute(logdir), wait=0, warmup=0, active=batches, mode="replay")
    snapshot = Snapshot(loader)
    try:
        return _replay(loader, options, progress)
    finally:
        snapshot.restore()


def _replay(loader: Any, options: CaptureOptions, progress: bool) -> str:
    import torch

    base_seed, indices = _next_indices(loader, options.active)
    count = options.active if indices is None else len(indices)
    if count == 0:
        raise _no_batch(loader)
    stand_in = _zero_worker_loader(loader, indices)
    notes = (HOW_IT_DIFFERS, *_dropped(loader))
    if progress:
        print(HOW_IT_DIFFERS, file=sys.stderr)
    done = 0
    profile = Profile(options, schedule=_record_all(count), notes=notes, describes=loader)
    with _as_worker(loader, stand_in.dataset, base_seed), profile as prof:
        if loader_init := getattr(loader, "worker_init_fn", None):
            loader_init(0)
        for done in _progress(prof.steps(stand_in), count, show=progress):
            if done == count:
                break
    path = prof.trace_files[-1]
    if done == 0:
        Path(path).unlink()
        raise _no_batch(loader)
    del torch
    return path


def _no_batch(loader: object) -> ValueError:
    return ValueError(f"annotate.replay: the {type(loader).__name__} gives no batch; is its dataset empty?")
