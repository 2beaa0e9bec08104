"""What users put around their objects: `loader`, `dataset`, `compose`, `collate`, `stage`; `auto` for all loaders.

Each only remembers what it is given (`hooks.marked`), and has the standing hooks put in (`capture.standing`); nothing
is timed before a capture, a profiler or a monitor looks at it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from annotate.capture import standing
from annotate.hooks import marked
from annotate.hooks.collating import Collate, CollateFunction
from annotate.hooks.fastai_loaders import followed, is_stand_in
from annotate.hooks.readers.registered import register_reader
from annotate.hooks.stages import stage
from annotate.hooks.transforms import Compose, Transform
from annotate.hooks.wrappers import path_to_loaders
from annotate.monitoring.monitor import monitor_by_environment
from annotate.needs_torch import need_torch
from annotate.passing import pass_over
from annotate.saying import in_short

D = TypeVar("D")
L = TypeVar("L")
T = TypeVar("T", bound=Transform)


def loader(loader: L) -> L:
    """Annotate an existing DataLoader in place: its dataset, transforms and collate function.

    Returns the very same loader, with the same type, order, results and random numbers. Nothing but its ``collate_fn``
    is replaced (by an object that forwards to it); the dataset is only remembered, and timed while `profile` or
    `replay` records. Anything with ``dataset`` or ``collate_fn`` will do, and so will what holds a DataLoader
    (webdataset's WebLoader, prefetchers). Twice is harmless. With ``ANNOTATE_MONITOR`` in the environment its batches
    are also reported on stderr, see `monitor`.

    Raises:
        TypeError: it has neither, and holds no DataLoader.
    """
    found = path_to_loaders(loader).loaders
    if not found:
        raise TypeError(_not_a_loader(loader))
    for each in found:
        function = None if is_stand_in(each) else getattr(each, "collate_fn", None)
        if callable(function) and not isinstance(function, Collate):
            each.collate_fn = collate(function)  # type: ignore[attr-defined]
        marked.remember("loader", each)
        standing.stand(each)
        if os.environ.get("ANNOTATE_MONITOR"):
            monitor_by_environment(each)
    return loader


def _not_a_loader(given: object) -> str:
    hint = ". Pass the object that your loop iterates"
    if isinstance(given, type):
        hint = f". Did you mean annotate.loader({given.__name__}(...))?"
    elif hasattr(type(given), "__getitem__"):
        hint = ". Did you mean annotate.dataset(...)?"
    elif hasattr(type(given), "__iter__"):
        hint = ": to record the data wait of any iterable, loop over prof.steps(...)"
    return f"annotate.loader takes a torch DataLoader, not {in_short(given)}{hint}"


def dataset(ds: D) -> D:
    """Have a dataset's items timed: a `sample` span each, with its transforms and those of inner datasets.

    Returns the very same object, unchanged: it is only remembered, and timed while `profile` or `replay` records.
    Works for map-style datasets, those with ``__getitems__``, iterable ones, and for ``Subset``, ``ConcatDataset``,
    ``ChainDataset`` and ``random_split``. Twice is harmless.

    Raises:
        TypeError: `ds` has neither ``__getitem__`` nor ``__iter__``, or is a loader, a class, or text.
    """
    hint = _why_no_dataset(ds)
    if hint is not None:
        raise TypeError(f"annotate.dataset takes a dataset with __getitem__ or __iter__, not {in_short(ds)}{hint}")
    marked.remember("dataset", ds)
    standing.stand()
    return ds


def _why_no_dataset(ds: object) -> str | None:
    """What ends the error message; None for a dataset."""
    if isinstance(ds, type):
        return f". Did you mean annotate.dataset({ds.__name__}(...))?"
    if hasattr(ds, "dataset") and hasattr(ds, "collate_fn"):
        return ". Did you mean annotate.loader(...)?"
    if isinstance(ds, (str, bytes)) or not any(hasattr(type(ds), name) for name in ("__getitem__", "__iter__")):
        return ". Pass the object that you pass to DataLoader(...)"
    return None


@overload
def compose(transforms: list[Transform] | tuple[Transform, ...]) -> Compose: ...
@overload
def compose(transforms: T) -> T: ...
def compose(transforms: Any) -> Any:
    """Have every transform of a pipeline timed, one span each, nested as composed.

    A list or tuple of callables becomes a `Compose`. An existing pipeline (torchvision's or albumentations' Compose,
    ``nn.Sequential``, any callable object) is returned as it is, and stays as it is: it is only remembered, and timed
    while `profile` or `replay` records. Twice is harmless.

    Raises:
        TypeError: an element, or the pipeline, is not callable.
    """
    if isinstance(transforms, (list, tuple)):
        for index, transform in enumerate(transforms):
            if not callable(transform):
                raise TypeError(
                    f"annotate.compose takes callables, but element {index} is {in_short(transform)}. Pass "
                    "transforms, such as T.ToTensor()"
                )
        transforms = Compose(list(transforms))
    elif not callable(transforms):
        raise TypeError(
            "annotate.compose takes a list of callables or a callable pipeline, not "
            f"{in_short(transforms)}. Pass a list, such as [T.RandomCrop(256), T.ToTensor()], or your Compose"
        )
    marked.remember("transform", transforms)
    standing.stand()
    return transforms


def default_collate(batch: Any) -> Any:
    """torch's default, imported when the first batch is built."""
    from torch.utils.data import default_collate as torchs

    return torchs(batch)


def collate(fn: CollateFunction | None = None) -> Collate:
    """`fn` (torch's default_collate when None) as a picklable object that times its calls. Twice is harmless.

    Raises:
        TypeError: `fn` is not callable.
    """
    standing.stand()
    if isinstance(fn, Collate):
        return fn
    if fn is not None and not callable(fn):
        raise TypeError(
            f"annotate.collate takes a function that builds a batch, not {in_short(fn)}. Pass what you pass as "
            "collate_fn=..., or nothing for torch's default"
        )
    return Collate(default_collate if fn is None else fn)


def auto(*, skip: Iterable[object] = ()) -> None:
    """Follow every DataLoader that is iterated from now on, whatever made it, as if each were given to `loader`.

        annotate.auto()
        with torch.profiler.profile(...) as prof:
            for batch in make_loader(): ...

    Loaders keep their ``collate_fn``. Subclasses with an ``__iter__`` or ``_get_iterator`` of their own are followed
    too. `off` ends it.

    Args:
        skip: loaders that are left alone.

    Raises:
        TypeError: `skip` holds something that is no DataLoader.
    """
    need_torch("auto")
    from torch.utils.data import DataLoader

    skipped = [followed(each) for each in skip]
    for each in skipped:
        if not isinstance(each, DataLoader) and not is_stand_in(each):
            raise TypeError(
                f"annotate.auto(skip=[...]) takes DataLoaders, not {in_short(each)}. Pass the DataLoaders that are to "
                "be left alone"
            )
    standing.follow_everything(skipped)


marked.on_stage = standing.stand_for_a_stage
pass_over()  # before any of these functions makes another

__all__ = ["auto", "collate", "compose", "dataset", "default_collate", "loader", "register_reader", "stage"]
