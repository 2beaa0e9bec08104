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
    from annotate.capture.profiling import Profile as Profile
    from annotate.capture.profiling import profile as profile
    from annotate.capture.replaying import NoBatchError as NoBatchError
    from annotate.capture.replaying import replay as replay
    from annotate.capture.steps import Steps as Steps
    from annotate.hooks.stages import stage as stage
    from annotate.hooks.transforms import Compose as Compose
    from annotate.marks import collate as collate
    from annotate.marks import compose as compose
    from annotate.marks import dataset as dataset
    from annotate.marks import loader as loader
    from annotate.monitoring.monitor import monitor as monitor
    from annotate.options import WorkerLimits as WorkerLimits

__all__ = [
    "Compose", "NoBatchError", "Profile", "Steps", "WorkerLimits", "collate", "compose", "dataset", "loader",
    "monitor", "profile", "replay", "stage",
]  # fmt: skip

_HOME: Final = {
    "Compose": "hooks.transforms",
    "NoBatchError": "capture.replaying",
    "Profile": "capture.profiling",
    "Steps": "capture.steps",
    "WorkerLimits": "options",
    "collate": "marks",
    "compose": "marks",
    "dataset": "marks",
    "loader": "marks",
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
