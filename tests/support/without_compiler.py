"""Imported by a program that trains, after torch: no compiler of torch's is imported, which is most of a short program.

torch's first optimizer and first profiler import it, for a decorator that does nothing where nothing is compiled, and
for one setting. Stand-ins have these.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import torch


def stand_ins() -> dict[str, ModuleType]:
    """Modules by their names. One that is there already stays."""
    compiler, inductor, config = map(ModuleType, NAMES)
    vars(compiler).update(disable=disable, graph_break=lambda *_: None)
    vars(config)["triton"] = SimpleNamespace(cudagraphs=False)
    vars(inductor)["config"] = config
    return dict(zip(NAMES, (compiler, inductor, config), strict=True))


NAMES = ("torch._dynamo", "torch._inductor", "torch._inductor.config")


def disable(function: Any, *_: Any, **__: Any) -> Any:
    """What the compiler's own does as long as nothing is compiled."""
    return function


for name, module in stand_ins().items():
    if name not in sys.modules:
        sys.modules[name] = module
        if name.count(".") == 1:
            setattr(torch, name.rpartition(".")[2], module)
