"""Datasets: `dataset`, and how a session times them.

One `sample` span is one item that the DataLoader asked for. In nested datasets (``Subset`` of ``ImageFolder``)
it carries the name of the outermost that does more than choose items (torch's own ``Subset`` only does that, and its
``ConcatDataset`` of datasets of one class), and the inner ones open none of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any, Final

from annotate.hooks.fastai_loaders import is_stand_in
from annotate.hooks.held import time_functions
from annotate.hooks.patching import Patches, Timing
from annotate.hooks.stand_ins import Followed, Method, original_of, timed_iterator
from annotate.hooks.transforms import attribute, time_held
from annotate.recording import between, switch

_INNER: Final = ("dataset", "datasets", "_dataset", "source_dataset")
"""Attributes under which a dataset keeps the datasets that it draws from."""

_DATA_LIBRARIES: Final = frozenset({"numpy", "pandas", "polars", "pyarrow", "h5py", "zarr", "lmdb", "scipy", "jax"})

_DEEPEST: Final = 16

BATCHED: Final = ".__getitems__"
"""Ends the label of a `sample` span that covers a whole batch, fetched by a dataset's own ``__getitems__``."""


def inner_datasets(ds: Any) -> Iterator[object]:
    """The datasets that a dataset draws from."""
    for name in _INNER:
        held = attribute(ds.d if is_stand_in(ds) else ds, name)
        held = list(held.values()) if isinstance(held, dict) else held
        for inner in held if isinstance(held, (list, tuple)) else [held]:
            if _looks_like_dataset(inner):
                yield inner


def datasets_in(ds: object) -> list[object]:
    """A dataset and all that it draws from, each once."""
    found: list[object] = []
    waiting = [] if ds is None else [ds]
    while waiting:
        current = waiting.pop()
        if not any(current is known for known in found):
            found.append(current)
            waiting += inner_datasets(current)
    return found


def time_dataset(patches: Patches, ds: object) -> None:
    """Time a dataset, the datasets inside it, and their transforms."""
    if not patches.first_visit(ds):
        return
    if is_stand_in(ds):  # gives whole batches; its loader's items are timed (`libraries.fastai_loops`)
        pass
    elif _is_data(ds) or not patches.follow(ds, _ITERABLE if _is_iterable(ds) else _MAP, behind_subsets(ds)):
        patches.note(f"The dataset {type(ds).__name__} could not be timed; its transforms still are.")
    for inner in inner_datasets(ds):
        time_dataset(patches, inner)
    time_held(patches, ds)
    time_functions(patches, ds)


def behind_subsets(ds: object, depth: int = _DEEPEST) -> object:
    """The dataset itself; of torch's ``Subset`` the one that it chooses from, of its ``ConcatDataset`` the first one,
    where all are of one class."""
    data = sys.modules.get("torch.utils.data")
    if data is None or not depth or type(ds) not in (data.Subset, data.ConcatDataset):
        return ds
    inner = [behind_subsets(each, depth - 1) for each in inner_datasets(ds)]
    return inner[0] if len({type(each) for each in inner}) == 1 else ds


def follow_iteration(patches: Patches, ds: object) -> None:
    """Have iterators that an iterable dataset makes until the undo give a span per item whenever a window is open."""
    if ds is not None and not _is_data(ds) and _is_iterable(ds):
        patches.follow(ds, _ITERABLE)


def _looks_like_dataset(obj: object) -> bool:
    cls = type(obj)
    if cls.__module__ == "builtins" or _is_data(obj):
        return False
    return any(hasattr(cls, name) for name in ("__getitem__", "__iter__"))


def _is_data(obj: object) -> bool:
    """True for arrays, tensors, tables and files: their libraries look at the exact class."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return True
    return any(c.__module__.partition(".")[0] in _DATA_LIBRARIES for c in type(obj).__mro__)


def _is_iterable(ds: object) -> bool:
    data = sys.modules.get("torch.utils.data")
    if data is not None and isinstance(ds, data.IterableDataset):
        return True
    return not hasattr(type(ds), "__getitem__") and hasattr(type(ds), "__iter__")


def _timed_getitem(method: Method, followed: Followed) -> Method:
    @wraps(method)
    def __getitem__(self: object, index: Any) -> Any:  # noqa: N807
        if not switch.RECORDING and (switch.poll is None or not switch.poll()):
            if switch.unrecorded is None:
                return method(self, index)
            return switch.unrecorded(followed.get(id(self)), index, method, self, index)
        own_name = followed.get(id(self))
        thread = switch.thread.open
        if own_name is None:
            return method(self, index)
        thread.items += 1
        if thread.sample:
            return method(self, index)
        name = thread.sample = thread.batch_sample or own_name
        switch.sampling = True
        try:
            return switch.sample(name, index, method, self, index)
        finally:
            thread.sample = ""
            switch.sampling = False

    return __getitem__


def _timed_getitems(method: Method, followed: Followed) -> Method:
    """Time a batched fetch.

    A ``__getitems__`` that only asks for its items one by one gives one span per item; any other gives one span for
    the whole call. Which of the two it is shows in its first recorded call, which gets one span; of ``Subset`` it is
    known.
    """
    one_by_one: bool | None = True if _is_subset(method) else None

    @wraps(method)
    def __getitems__(self: object, indices: Any) -> Any:  # noqa: N807
        nonlocal one_by_one
        thread = switch.thread.open
        if not switch.RECORDING and (switch.poll is None or not switch.poll()):
            if switch.unrecorded is None or one_by_one is not False:  # each item of it is noticed by itself
                between.fetch_begins()
                return method(self, indices)
            return switch.unrecorded(followed.get(id(self)), None, method, self, indices)
        batch_name = followed.get(id(self))
        if batch_name is None or thread.sample:
            return method(self, indices)
        if one_by_one:
            outer = thread.batch_sample
            thread.batch_sample = outer or switch.hand_out("sample", type(behind_subsets(self)).__name__)
            try:
                return method(self, indices)
            finally:
                thread.batch_sample = outer
        before = thread.items
        thread.sample = batch_name
        switch.sampling = True
        try:
            return switch.sample(batch_name, None, method, self, indices)
        finally:
            thread.sample = ""
            switch.sampling = False
            if one_by_one is None:
                one_by_one = thread.items - before == len(indices)

    return __getitems__


def _is_subset(method: Method) -> bool:
    data = sys.modules.get("torch.utils.data")
    own = None if data is None else vars(data.Subset).get("__getitems__")
    return own is not None and method is original_of(own)


def _timed_iter(method: Method, followed: Followed) -> Method:
    @wraps(method)
    def __iter__(self: object) -> Iterator[Any]:  # noqa: N807
        name = followed.get(id(self))
        iterator = method(self)
        return iterator if name is None else timed_iterator(iterator, name)

    return __iter__


_MAP: Final = {
    "__getitem__": Timing("sample", _timed_getitem),
    "__getitems__": Timing("sample", _timed_getitems, BATCHED),
}
_ITERABLE: Final = {"__iter__": Timing("sample", _timed_iter)}
