"""Marks the stages of a PyTorch data pipeline, and records them with torch.profiler.

    transform = annotate.compose([...])          a pipeline of transforms: one span each
    dataset   = annotate.dataset(MyDataset())    one span per sample
    collate   = annotate.collate(my_collate)     one span per batch built
    loader    = annotate.loader(DataLoader(...)) all of it, on an existing loader
    with annotate.stage("h2d"): ...              any code of your own
    with annotate.profile("runs/exp1") as prof:  records a training loop
    annotate.register_reader("mylib.read_blob")  every call of a function that reads
    annotate.auto()                              every DataLoader that is iterated from now on
    annotate.replay(loader, "runs/replay")       loads batches in this process, so that every stage shows
    annotate.watch(loader, logdir="runs/exp1")   records the whole run, cheaply, and windows of what is unusual
    annotate.monitor(loader, every=10)           prints a line per so many batches, without a profiler

Any torch.profiler of the program's own records what was annotated as well: the file that it exports has it, and
``on_trace_ready=annotate.trace_handler("runs/exp1")`` gives that file our name. `off` ends this.
`annotate.integrations` has a profiler and callbacks for Lightning, and for Hugging Face transformers and accelerate.

Nothing is timed, and next to nothing is spent, outside of what a profiler, `replay` or `monitor` looks at. Importing
this package does not import torch.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from annotate.needs_torch import need_torch

if TYPE_CHECKING:
    from annotate.capture.handler import trace_handler as trace_handler
    from annotate.capture.profiling import Profile as Profile
    from annotate.capture.profiling import profile as profile
    from annotate.capture.replaying import NoBatchError as NoBatchError
    from annotate.capture.replaying import replay as replay
    from annotate.capture.standing import off as off
    from annotate.capture.steps import Steps as Steps
    from annotate.hooks.transforms import Compose as Compose
    from annotate.launch.watch import watch as watch
    from annotate.marks import auto as auto
    from annotate.marks import collate as collate
    from annotate.marks import compose as compose
    from annotate.marks import dataset as dataset
    from annotate.marks import loader as loader
    from annotate.marks import register_reader as register_reader
    from annotate.marks import stage as stage
    from annotate.monitoring.monitor import monitor as monitor
    from annotate.options import WorkerLimits as WorkerLimits

__all__ = [
    "Compose", "NoBatchError", "Profile", "Steps", "WorkerLimits", "auto", "collate", "compose", "dataset", "loader",
    "monitor", "off", "profile", "register_reader", "replay", "stage", "trace_handler",
    "watch",
]  # fmt: skip

_HOME: Final = {
    "Compose": "hooks.transforms",
    "NoBatchError": "capture.replaying",
    "Profile": "capture.profiling",
    "Steps": "capture.steps",
    "WorkerLimits": "options",
    "auto": "marks",
    "collate": "marks",
    "compose": "marks",
    "dataset": "marks",
    "loader": "marks",
    "monitor": "monitoring.monitor",
    "off": "capture.standing",
    "profile": "capture.profiling",
    "register_reader": "marks",
    "replay": "capture.replaying",
    "stage": "marks",
    "trace_handler": "capture.handler",
    "watch": "launch.watch",
}
"""Public name -> the module that has it, imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name == "integrations":
        return import_module("annotate.integrations")
    if name not in _HOME:
        raise AttributeError(f"module 'annotate' has no attribute {name!r}")
    value = getattr(_imported(name), name)
    globals()[name] = value
    return value


def _imported(name: str) -> ModuleType:
    try:
        return import_module(f"annotate.{_HOME[name]}")
    except ModuleNotFoundError:
        need_torch(name)
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if (os.environ.get("ANNOTATE") or os.environ.get("ANNOTATE_WATCH")) and not os.environ.get(
    "ANNOTATE_RUN"
):  # record it into that folder, as `run` does
    from annotate.launch.site import _annotate_watch

    _annotate_watch.install()
