"""`loader`: the one line that annotates an existing DataLoader, and what the trace says of one."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any, TypeVar

from annotate._collate import Collate, collate
from annotate._compose import time_transform
from annotate._dataset import time_dataset
from annotate._patching import Patches
from annotate._registry import Role, register
from annotate.trace_format import LoaderMetadata

L = TypeVar("L")


def loader(loader: L) -> L:
    """Annotate an existing DataLoader in place: its dataset, transforms and collate function.

    Returns the very same loader, with the same type, order, results and random numbers. Nothing but its ``collate_fn``
    is replaced (by an object that forwards to it); the dataset is only remembered, and timed while `profile` or
    `replay` records. Anything with ``dataset`` or ``collate_fn`` will do. Twice is harmless. With ``ANNOTATE_MONITOR``
    in the environment its batches are also told of on stderr, see `monitor`.

    Raises:
        TypeError: it has neither.
    """
    function = getattr(loader, "collate_fn", None)
    ds = getattr(loader, "dataset", None)
    if function is None and ds is None:
        raise TypeError(f"annotate.loader takes a DataLoader: {type(loader).__name__} has no dataset and no collate_fn")
    if function is not None and not isinstance(function, Collate):
        loader.collate_fn = collate(function)  # type: ignore[attr-defined]
    register("loader", loader)
    if os.environ.get("ANNOTATE_MONITOR"):
        from annotate._monitor import monitor_by_environment

        monitor_by_environment(loader)
    return loader


def time_loader(patches: Patches, one: object, *, collating: bool) -> None:
    """Time a loader's dataset, and for one that was not annotated its collate function, until the undo."""
    ds = getattr(one, "dataset", None)
    if ds is not None:
        time_dataset(patches, ds)
    function = getattr(one, "collate_fn", None)
    if collating and function is not None and not isinstance(function, Collate):
        patches.set_attribute(one, "collate_fn", collate(function))


def time_registered(patches: Patches, role: Role, obj: object) -> None:
    """Time what the user registered, until the undo."""
    if role == "transform":
        time_transform(patches, obj)
    elif role == "dataset":
        time_dataset(patches, obj)
    else:
        time_loader(patches, obj, collating=False)


def describe(one: Any) -> LoaderMetadata:
    """The settings of a loader; those that it does not have are left out."""
    facts: LoaderMetadata = {"name": type(one).__name__}
    ds = getattr(one, "dataset", None)
    if ds is not None:
        facts["dataset"] = type(ds).__name__
    batch_size = getattr(one, "batch_size", None) or getattr(getattr(one, "batch_sampler", None), "batch_size", None)
    if isinstance(batch_size, int):
        facts["batch_size"] = batch_size
    workers = getattr(one, "num_workers", None)
    if isinstance(workers, int):
        facts["num_workers"] = workers
    for key in ("pin_memory", "drop_last"):
        if hasattr(one, key):
            facts[key] = bool(getattr(one, key))
    if workers:
        _describe_workers(one, facts)
    return facts


def _describe_workers(one: Any, facts: LoaderMetadata) -> None:
    prefetch = getattr(one, "prefetch_factor", None)
    if isinstance(prefetch, int):
        facts["prefetch_factor"] = prefetch
    facts["persistent_workers"] = bool(getattr(one, "persistent_workers", False))
    facts["in_order"] = bool(getattr(one, "in_order", True))
    context = getattr(one, "multiprocessing_context", None) or multiprocessing
    # The first of the methods is the default; asking for the default itself would fix it for the whole process.
    method = context.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
    facts["start_method"] = method
