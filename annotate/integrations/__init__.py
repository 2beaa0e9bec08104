"""annotate.profile inside of training frameworks. Each module needs its framework, and imports it when it is imported.

annotate.integrations.lightning     DataPipelineProfiler, DataPipelineCallback
annotate.integrations.transformers  DataPipelineCallback
annotate.integrations.accelerate    profile_kwargs
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

__all__ = ["accelerate", "lightning", "transformers"]

_MODULES: Final = frozenset(__all__)


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module 'annotate.integrations' has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
