"""Pipelines of each library; a module is imported only in the process that runs one of its pipelines."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from tests.ecosystem.pipeline import Pipeline

MODULES: Final = (
    "torch_own", "pools", "web", "hugging_face", "torchdata_lib", "lit", "mosaic", "torchio_lib", "monai_lib",
    "fastai_lib", "pyg", "spdl_lib", "timm_lib", "ultralytics_like", "prepared", "dali_like",
)  # fmt: skip


def pipelines(module: str) -> tuple[Pipeline, ...]:
    """Those of one module, in the table's order.

    Raises:
        ImportError: the library is not there.
    """
    found: tuple[Pipeline, ...] = import_module(f"{__name__}.{module}").PIPELINES
    return found
