"""Everything of the program's process that annotate might change, as it is at one moment."""

from __future__ import annotations

import atexit
import builtins
import gc
import inspect
import io
import logging
import multiprocessing
import multiprocessing.process
import os
import signal
import sys
import threading
import warnings
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.lib.npyio
import PIL.Image
import PIL.ImageFile
import torch
import torch.autograd.profiler
import torch.profiler
import torch.utils.data
from torch.utils.data import _utils as data_utils
from torch.utils.data import dataloader

from tests.harm import user_code

CLASSES: Final[tuple[type, ...]] = (
    *user_code.CLASSES,
    *(torch.utils.data.DataLoader, torch.utils.data.Dataset, torch.utils.data.IterableDataset),
    *(torch.utils.data.Subset, torch.utils.data.ConcatDataset, torch.utils.data.Sampler),
    *(torch.utils.data.BatchSampler, torch.utils.data.RandomSampler, torch.utils.data.SequentialSampler),
    *(dataloader._BaseDataLoaderIter, dataloader._SingleProcessDataLoaderIter),
    *(dataloader._MultiProcessingDataLoaderIter, multiprocessing.process.BaseProcess),
    *(torch.profiler.profile, torch.profiler.profiler._KinetoProfile),
    *(torch.autograd.profiler.profile, torch.autograd.profiler.record_function),
    *(PIL.Image.Image, PIL.ImageFile.ImageFile, numpy.lib.npyio.NpzFile),
    *(threading.Thread, warnings.catch_warnings, torch.nn.Module, torch.optim.Optimizer),
)

MODULES: Final = (
    *(builtins, io, os, sys, signal, threading, warnings, atexit, gc, multiprocessing),
    *(torch.utils.data, dataloader, data_utils.worker, data_utils.fetch, data_utils.collate, data_utils.pin_memory),
    *(torch.profiler, torch.profiler.profiler, torch.autograd.profiler, np, PIL.Image, PIL.ImageFile, user_code),
)

_NOT_LOOKED_AT = {"__warningregistry__", "__annotations__", "last_type", "last_value", "last_traceback"}
_NOT_LOOKED_AT |= {"_cupti_monitor_checked", "_cupti_monitor_module"}  # torch's own, set by the first marker

World = dict[str, Any]


def look() -> World:
    """By name, an object that must be the very same afterwards, or a value that must be equal."""
    world: World = {}
    for cls in CLASSES:
        for name, value in vars(cls).items():
            if name not in _NOT_LOOKED_AT:
                world[f"{cls.__module__}.{cls.__qualname__}.{name}"] = _Same(value)
    for module in MODULES:
        for name, value in vars(module).items():
            if name not in _NOT_LOOKED_AT and not isinstance(value, ModuleType):  # a submodule that was imported
                world[f"{module.__name__}.{name}"] = _Same(value)
    names = {one.value: one.name for one in signal.Signals}  # not all have one, in Python 3.10
    for number in signal.valid_signals():
        world[f"handler of {names.get(number, number)}"] = _Same(signal.getsignal(number))
    world |= {
        "trace function": _Same(sys.gettrace()),
        "profile function": _Same(sys.getprofile()),
        "warnings' filters": list(warnings.filters),
        "sys.path": list(sys.path),
        "meta path": list(sys.meta_path),
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109
        "umask": _umask(),
        "switch interval": sys.getswitchinterval(),
        "recursion limit": sys.getrecursionlimit(),
        "garbage collector": (gc.isenabled(), gc.get_threshold(), list(map(_Same, gc.callbacks))),
        "log handlers": list(map(_Same, logging.root.handlers)),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "torch threads": torch.get_num_threads(),
        "profiling": torch.autograd._profiler_enabled(),  # type: ignore[attr-defined, unused-ignore]
        "alarm": signal.getitimer(signal.ITIMER_REAL),
    }
    return world


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class _Same:
    """Equal where it holds the very same object. Keeps it, so that no other one takes its place in memory."""

    __slots__ = ("obj",)

    def __init__(self, obj: object) -> None:
        self.obj = obj

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        if self.obj is other.obj:
            return True
        simple = (int, float, str, bytes, bool, type(None))
        return type(self.obj) is type(other.obj) and isinstance(self.obj, simple) and self.obj == other.obj

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        obj = self.obj
        if inspect.isroutine(obj) or isinstance(obj, type):
            return f"{type(obj).__name__} {getattr(obj, '__module__', '')}.{getattr(obj, '__qualname__', '')}"
        return repr(obj) if isinstance(obj, (int, float, str, bytes)) else type(obj).__name__


def changes(before: World, after: World) -> dict[str, str]:
    """What is another thing now."""
    found = {}
    for name in sorted(before.keys() | after.keys()):
        if name not in before:
            found[name] = f"new: {after[name]!r}"
        elif name not in after:
            found[name] = "gone"
        elif before[name] != after[name]:
            found[name] = repr(after[name])
    return found


class Instances:
    """The user's objects: their types, and each of their attributes, by identity."""

    def __init__(self, loader: Any) -> None:
        self._objects = {
            "loader": loader,
            "dataset": loader.dataset,
            "sampler": loader.sampler,
            "batch_sampler": loader.batch_sampler,
            "collate_fn": loader.collate_fn,
            "generator": loader.generator,
            "context": loader.multiprocessing_context,
        }
        inner = [loader.dataset, getattr(loader.dataset, "photos", None), getattr(loader.dataset, "dataset", None)]
        inner += getattr(inner[-1], "datasets", [])
        for number, dataset in enumerate(inner):
            self._objects[f"dataset {number}"] = dataset
            self._objects[f"transform {number}"] = transform = getattr(dataset, "transform", None)
            for place, item in enumerate(getattr(transform, "transforms", [])):
                self._objects[f"transform {number}.{place}"] = item
        self._before = self._look()

    def _look(self) -> World:
        seen: World = {}
        for name, obj in self._objects.items():
            seen[f"type of {name}"] = _Same(type(obj))
            seen[f"class of {name}"] = _Same(getattr(obj, "__class__", None))
            for key, value in getattr(obj, "__dict__", {}).items():
                seen[f"{name}.{key}"] = _Same(value)
                if isinstance(value, list):
                    seen[f"items of {name}.{key}"] = [_Same(item) for item in value[:100]]
        return seen

    def changes(self) -> dict[str, str]:
        return changes(self._before, self._look())

    def types(self) -> dict[str, str]:
        return {name: f"{type(obj).__module__}.{type(obj).__qualname__}" for name, obj in self._objects.items()}
