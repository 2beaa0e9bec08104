"""`loader`: the one line that annotates an existing DataLoader, and what the trace says of one."""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any, TypeVar

from annotate.hooks.collating import Collate, collate
from annotate.hooks.datasets import time_dataset
from annotate.hooks.patching import Patches
from annotate.hooks.registry import Role, register
from annotate.hooks.transforms import time_transform
from annotate.saying import in_short
from annotate.trace_format import LoaderMetadata

L = TypeVar("L")


def loader(loader: L) -> L:
    """Annotate an existing DataLoader in place: its dataset, transforms and collate function.

    Returns the very same loader, with the same type, order, results and random numbers. Nothing but its ``collate_fn``
    is replaced (by an object that forwards to it); the dataset is only remembered, and timed while `profile` or
    `replay` records. Anything with ``dataset`` or ``collate_fn`` will do, and so will what holds a DataLoader
    (webdataset's WebLoader, prefetchers). Twice is harmless. With ``ANNOTATE_MONITOR`` in the environment its batches
    are also told of on stderr, see `monitor`.

    Raises:
        TypeError: it has neither, and holds no DataLoader.
    """
    found = loaders_in(loader)
    if not found:
        raise TypeError(_not_a_loader(loader))
    for each in found:
        function = getattr(each, "collate_fn", None)
        if callable(function) and not isinstance(function, Collate):
            each.collate_fn = collate(function)  # type: ignore[attr-defined]
        register("loader", each)
        if os.environ.get("ANNOTATE_MONITOR"):
            from annotate.monitoring.monitor import monitor_by_environment

            monitor_by_environment(each)
    return loader


def _not_a_loader(given: object) -> str:
    hint = ". Pass the object that your loop iterates"
    if isinstance(given, type):
        hint = f". Did you mean annotate.loader({given.__name__}(...))?"
    elif hasattr(type(given), "__getitem__"):
        hint = ". Did you mean annotate.dataset(...)?"
    elif hasattr(type(given), "__iter__"):
        hint = ": loop over prof.steps(...) to have the data wait of any iterable recorded"
    return f"annotate.loader takes a DataLoader of torch, and not {in_short(given)}{hint}"


def loaders_in(given: object) -> list[object]:
    """`given` itself when it is a loader, else the DataLoaders that it holds in its attributes."""
    if isinstance(given, type):
        return []
    if _looks_like_loader(given):
        return [given]
    data = sys.modules.get("torch.utils.data")
    held = list(getattr(given, "__dict__", {}).values())
    held += [item for value in held if isinstance(value, (list, tuple)) for item in value]
    return [] if data is None else [value for value in held if isinstance(value, data.DataLoader)]


def _looks_like_loader(given: object) -> bool:
    """True for what has a collate function or a dataset of its own, not one that it makes up when it is asked."""
    return any(
        name in getattr(given, "__dict__", {}) or hasattr(type(given), name) for name in ("collate_fn", "dataset")
    )


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
