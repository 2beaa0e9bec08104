"""What a line of the training thread spends its time on, by its own text and by the files of what it calls."""

from __future__ import annotations

import re
from typing import Final, Literal

from tb_dataplugin.analyses.code_places import Home, package_of, plain
from tb_dataplugin.analyses.line_patterns import COLLECTS
from tb_dataplugin.model.line_samples import Frame

Work = Literal[
    "iterators", "readback", "saving", "output", "copying", "freeing", "collecting", "sleep", "waiting", "python"
]
"""What a line of the step spends its time on; "python": Python, and libraries that it calls."""

_LOADER: Final = re.compile(r"/(?:torch/utils/data/dataloader|annotate/workers/following)\.py\b")
"""What makes and drops iterators, and our own hook around that."""

_BY_FILE: Final[tuple[tuple[Work, re.Pattern[str]], ...]] = (
    ("iterators", _LOADER),
    ("saving", re.compile(r"/(?:torch/serialization|pickle|shutil|safetensors/\w+)\.py$")),
    (
        "output",
        re.compile(
            r"/(?:logging|json|csv|tqdm|wandb|mlflow|tensorboard|tensorboardX|rich|loguru)(?:/|\.py$)"
            r"|/torch/(?:utils/tensorboard/|_tensor_str\.py$)"
        ),
    ),
    ("copying", re.compile(r"(?:/|^)copy\.py$")),
    ("waiting", re.compile(r"/(?:threading|queue|selectors|subprocess|socket|multiprocessing/\w+|concurrent/.*)\.py$")),
)
"""What code that the line calls is about, by its file; the first that fits."""

_BY_SOURCE: Final[tuple[tuple[Work, re.Pattern[str]], ...]] = (
    ("collecting", COLLECTS),
    ("sleep", re.compile(r"\bsleep\(")),
    ("readback", re.compile(r"\.(?:item|tolist|cpu|numpy)\(\)|\bsynchronize\(")),
    ("output", re.compile(r"\bprint\(|\.(?:write|flush)\(")),
)
"""The same of a line that calls C code, by its own text."""

_NOT_COMPUTE: Final = re.compile(
    r"/torch/(?:utils/(?:data|tensorboard)/|serialization\.py|_tensor_str\.py|profiler/|autograd/profiler|cuda/__init__\.py)"
)
"""Files of torch that are no work of the model."""

_COPIES: Final = re.compile(r"/(?:copy|torch/serialization|safetensors/torch)\.py$")
_WRITES: Final = re.compile(r"/(?:tensorboard|tensorboardX|wandb|mlflow)/")
_MODEL: Final = re.compile(r"/torch/(?:optim/|autograd/(?!profiler)|_tensor\.py|nn/modules/module\.py)")

MAKES_ITERATOR: Final = re.compile(r"\biter\(")
"""A line that makes an iterator, by its text."""

TAKES_BATCH: Final = re.compile(r"^(?:async )?for\b.*\bin\b|\bnext\(")
"""A line that binds the next batch to its variable, by its text: when ``next()`` has returned, that frees the batch
before."""


def makes_iterators(frames: list[Frame]) -> bool:
    """Whether torch makes an iterator of a DataLoader, or drops one. A ``next()`` is a wait, at its edges too."""
    names = [plain(frame.function) for frame in frames if _LOADER.search(frame.file)]
    return bool(names) and not any(name.endswith("__next__") for name in names)


def work_of(frames: list[Frame], home: Home | None) -> Work:
    below = []
    for frame in reversed(frames):
        if frame.origin == "user":
            break
        below.append(frame)
    for work, files in _BY_FILE:
        if any(files.search(frame.file) for frame in below):
            return work
    source = home.place.source if home is not None and not below else ""
    return next((work for work, texts in _BY_SOURCE if texts.search(source)), "python")


def computes(frames: list[Frame]) -> bool:
    """Whether code of torch's runs, or was called by what runs, that is the model's work: an `nn.Module`, a backward
    pass, an optimizer.
    """
    return any(package_of(frame) == "torch" and not _NOT_COMPUTE.search(frame.file) for frame in frames)


def copies_or_writes(frames: list[Frame]) -> bool:
    """``copy.deepcopy`` and ``torch.save``, of a model too, and what a library calls that logs: their operators copy,
    and compute nothing.
    """
    if any(_COPIES.search(frame.file) for frame in frames):
        return True
    return not computes(frames) and any(_WRITES.search(frame.file) for frame in frames)


def loops_over_a_tensor(frames: list[Frame]) -> bool:
    """``for value in tensor`` in the program's code: torch makes a tensor of each element."""
    last = frames[-1]
    is_iter = package_of(last) == "torch" and plain(last.function) in ("Tensor.__iter__", "__iter__")
    return is_iter and len(frames) > 1 and frames[-2].origin == "user" and not computes(frames[:-1])


def runs_the_model(frames: list[Frame]) -> bool:
    return any(_MODEL.search(frame.file) for frame in frames)
