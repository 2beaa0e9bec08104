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
    from annotate._collate import collate as collate
    from annotate._compose import compose as compose
    from annotate._dataset import dataset as dataset
    from annotate._loader import loader as loader
    from annotate._monitor import monitor as monitor
    from annotate._profile import profile as profile
    from annotate._replay import replay as replay
    from annotate._stage import stage as stage

__all__ = ["collate", "compose", "dataset", "loader", "monitor", "profile", "replay", "stage"]

_HOME: Final = {name: f"annotate._{name}" for name in __all__}
"""Modules have an underscore so that importing one cannot hide the function of the same name."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'annotate' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
