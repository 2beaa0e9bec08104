"""Marks the stages of a PyTorch data pipeline, and records them with torch.profiler.

    transform = annotate.compose([...])          a pipeline of transforms: one span each
    dataset   = annotate.dataset(MyDataset())    one span per sample
    collate   = annotate.collate(my_collate)     one span per batch built
    loader    = annotate.loader(DataLoader(...)) all of it, on an existing loader
    with annotate.stage("h2d"): ...              any code of your own
    with annotate.profile("runs/exp1") as prof:  records a training loop
    annotate.replay(loader, "runs/replay")       loads batches in this process, so that every stage shows
    annotate.monitor(loader, every=10)           prints a line per so many batches, without a profiler

Nothing is timed, and next to nothing is spent, outside of what `profile`, `replay` or `monitor` looks at. Importing
this package does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from annotate.capture.profiling import profile as profile
    from annotate.capture.replaying import replay as replay
    from annotate.hooks.collating import collate as collate
    from annotate.hooks.datasets import dataset as dataset
    from annotate.hooks.loaders import loader as loader
    from annotate.hooks.stages import stage as stage
    from annotate.hooks.transforms import compose as compose
    from annotate.monitoring.monitor import monitor as monitor

__all__ = ["collate", "compose", "dataset", "loader", "monitor", "profile", "replay", "stage"]

_HOME: Final = {
    "collate": "hooks.collating",
    "compose": "hooks.transforms",
    "dataset": "hooks.datasets",
    "loader": "hooks.loaders",
    "monitor": "monitoring.monitor",
    "profile": "capture.profiling",
    "replay": "capture.replaying",
    "stage": "hooks.stages",
}
"""Public name -> the module that has it, imported when the name is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'annotate' has no attribute {name!r}")
    value = getattr(import_module(f"annotate.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
