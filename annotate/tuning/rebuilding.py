"""A DataLoader made again from its own attributes, with other settings."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from annotate.tuning import openblas

WORKERS: Final = "num_workers"
THREADS: Final = "threads_per_worker"
"""No keyword of DataLoader's: the threads that torch, OpenCV and OpenBLAS may use in each DataLoader worker."""

SETTINGS: Final = (
    WORKERS, "prefetch_factor", "pin_memory", "persistent_workers", "in_order", "multiprocessing_context", THREADS,
)  # fmt: skip
OF_WORKERS: Final = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout", THREADS)
"""What a DataLoader without workers refuses."""

_NEEDED: Final = ("dataset", "collate_fn", WORKERS, "sampler", "batch_sampler", "generator", "worker_init_fn")


class NotTunable(Exception):
    """Nothing can be measured with this loader; the text is the line for the user."""


@dataclass(frozen=True, slots=True)
class ThreadsInWorkers:
    """A ``worker_init_fn``: sets the number of threads, then calls the user's own."""

    threads: int
    then: Callable[[int], object] | None

    def __call__(self, worker: int) -> None:
        import torch

        torch.set_num_threads(self.threads)
        if (cv2 := sys.modules.get("cv2")) is not None:
            cv2.setNumThreads(self.threads)
        openblas.set_threads(self.threads)
        if self.then is not None:
            self.then(worker)


def settings_of(loader: Any) -> dict[str, Any]:
    """The settings as they are now; what this torch does not have is absent.

    Raises NotTunable for what is no DataLoader.
    """
    missing = [name for name in _NEEDED if not hasattr(loader, name)]
    if missing:
        raise NotTunable(f"a {type(loader).__name__} is not a torch DataLoader: it has no {', '.join(missing)}")
    found = {name: getattr(loader, name) for name in SETTINGS if name != THREADS and hasattr(loader, name)}
    context = found.get("multiprocessing_context")
    if context is not None and not isinstance(context, str):
        found["multiprocessing_context"] = context.get_start_method()
    return found


def rebuilt(loader: Any, change: Mapping[str, Any]) -> Any:
    """The same dataset, sampler, collate function and generator, with `change` made; without one, `loader` itself.

    Raises:
        NotTunable: for what is no DataLoader.
        ValueError: torch's own, for settings that it refuses.
    """
    from torch.utils.data import DataLoader

    current = settings_of(loader)
    if not change:
        return loader
    keywords = {
        "dataset": loader.dataset,
        "collate_fn": loader.collate_fn,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
        "timeout": getattr(loader, "timeout", 0),
        **_batching(loader),
        **current,
        **{name: value for name, value in change.items() if name != THREADS},
    }
    if getattr(loader, "pin_memory_device", ""):
        keywords["pin_memory_device"] = loader.pin_memory_device
    if not keywords[WORKERS]:
        keywords = {name: value for name, value in keywords.items() if name not in OF_WORKERS}
    elif change.get(THREADS) is not None:
        keywords["worker_init_fn"] = ThreadsInWorkers(int(change[THREADS]), loader.worker_init_fn)
    made = type(loader) if type(loader).__init__ is DataLoader.__init__ else DataLoader
    known = inspect.signature(DataLoader.__init__).parameters
    return made(**{name: value for name, value in keywords.items() if name in known})


def _batching(loader: Any) -> dict[str, Any]:
    """How samples come to batches, by the keywords that DataLoader made its attributes from."""
    from torch.utils.data import IterableDataset

    if isinstance(loader.dataset, IterableDataset):
        return {"batch_size": loader.batch_size, "drop_last": bool(loader.drop_last)}
    if loader.batch_size is not None:
        return {"batch_size": loader.batch_size, "sampler": loader.sampler, "drop_last": bool(loader.drop_last)}
    if loader.batch_sampler is not None:
        return {"batch_sampler": loader.batch_sampler}
    return {"batch_size": None, "sampler": loader.sampler}


def not_the_same(loader: Any) -> str:
    """In which way a loader that was made again is another one; "" in none."""
    from torch.utils.data import DataLoader

    cls = type(loader)
    if cls.__init__ is DataLoader.__init__:
        return ""
    return f"{cls.__name__} has an __init__ of its own: changed settings were measured with a plain DataLoader."
