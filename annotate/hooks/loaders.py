"""`loader`: the one line that annotates an existing DataLoader, and what the trace says of one."""

from __future__ import annotations

import multiprocessing
from contextlib import suppress
from typing import Any, Final

from annotate.hooks.collating import Collate
from annotate.hooks.datasets import behind_subsets, time_dataset
from annotate.hooks.dividing import is_divided, is_drawn
from annotate.hooks.fastai_loaders import is_stand_in, known_as
from annotate.hooks.marked import Role
from annotate.hooks.patching import Patches
from annotate.hooks.transforms import home_of, time_transform
from annotate.trace_format import LoaderMetadata

_ITERABLE: Final = 1
"""torch's `_DatasetKind.Iterable`."""
_SHUFFLING: Final = ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")


def time_loader(patches: Patches, loader: object, *, collating: bool) -> None:
    """Time a loader's dataset, and for one that was not annotated its collate function, until the undo."""
    ds = getattr(loader, "dataset", None)
    if ds is not None:
        time_dataset(patches, ds)
    if is_stand_in(loader):  # its collate function is handed whole batches
        return
    function = getattr(loader, "collate_fn", None)
    patches.add_home(home_of(function.function if isinstance(function, Collate) else function))
    if collating and function is not None and not isinstance(function, Collate):
        patches.set_attribute(loader, "collate_fn", Collate(function))


def time_marked(patches: Patches, role: Role, obj: object) -> None:
    """Time what the user marked, until the undo."""
    if role == "transform":
        time_transform(patches, obj)
    elif role == "dataset":
        time_dataset(patches, obj)
    else:
        time_loader(patches, obj, collating=False)


def describe(loader: Any) -> LoaderMetadata:
    """The settings of a loader; those that it does not have are left out."""
    known = known_as(loader)
    facts: LoaderMetadata = {"name": type(known).__name__}
    ds = getattr(known, "dataset", None)
    if ds is not None:
        facts["dataset"] = type(behind_subsets(ds)).__name__
    batch_size = known.bs if known is not loader else getattr(loader, "batch_size", None)
    batch_size = batch_size or getattr(getattr(loader, "batch_sampler", None), "batch_size", None)
    if isinstance(batch_size, int):
        facts["batch_size"] = batch_size
    elif known is loader and is_whole(loader):
        facts["whole"] = True
    workers = getattr(loader, "num_workers", None)
    if isinstance(workers, int):
        facts["num_workers"] = workers
    for key in ("pin_memory", "drop_last"):
        if hasattr(known, key):
            facts[key] = bool(getattr(known, key))
    if workers:
        _describe_workers(loader, facts)
    with suppress(Exception):  # a sampler of the user's that cannot be asked is not described
        _describe_order(loader, facts)
    return facts


def _describe_order(loader: Any, facts: LoaderMetadata) -> None:
    """Which indices there are in an epoch. Only torch's own samplers are asked how many: len() of others may cost."""
    if is_iterable(loader):
        facts["iterable"] = True
        divided = is_divided(loader)
        if divided is not None:
            facts["divided"] = divided
        drawn = is_drawn(loader)
        if drawn is not None:
            facts["drawn"] = drawn
        return
    sampler = getattr(loader, "sampler", None)
    if sampler is None or not isinstance(loader, _torch_loader()):
        return
    kind = type(sampler)
    facts["sampler"] = kind.__name__
    replacement, shuffle = getattr(sampler, "replacement", None), getattr(sampler, "shuffle", None)
    if isinstance(replacement, bool):
        facts["replacement"] = replacement
    if kind.__module__.startswith("torch.utils.data"):
        facts["shuffle"] = kind.__name__ in _SHUFFLING or shuffle is True
        facts["sampler_length"] = len(sampler)


def is_iterable(loader: Any) -> bool:
    """Its dataset has no indices."""
    return getattr(loader, "_dataset_kind", None) == _ITERABLE


def is_whole(loader: Any) -> bool:
    """A DataLoader of torch's that hands out what its dataset gives, as it is (``batch_size=None``)."""
    return isinstance(loader, _torch_loader()) and getattr(loader, "batch_sampler", None) is None


def undivided(loader: Any) -> str:
    """The class of an iterable dataset that each DataLoader worker reads all of, as far as its code shows; else ""."""
    is_known = is_iterable(loader) and is_divided(loader) is False and not is_drawn(loader)
    return type(behind_subsets(loader.dataset)).__name__ if is_known else ""


def _torch_loader() -> type:
    from torch.utils.data import DataLoader

    return DataLoader


def _describe_workers(loader: Any, facts: LoaderMetadata) -> None:
    prefetch = getattr(loader, "prefetch_factor", None)
    if isinstance(prefetch, int):
        facts["prefetch_factor"] = prefetch
    facts["persistent_workers"] = bool(getattr(loader, "persistent_workers", False))
    facts["in_order"] = bool(getattr(loader, "in_order", True))
    facts["start_method"] = start_method(loader)


def start_method(loader: Any) -> str:
    """fork | spawn | forkserver."""
    context = getattr(loader, "multiprocessing_context", None) or multiprocessing
    # The first of the methods is the default; asking for the default itself would fix it for the whole process.
    return context.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]
