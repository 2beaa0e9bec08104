"""Lets torchvision be imported where its compiled operators are missing (``pip install --no-deps torchvision``).

torchvision registers a meta kernel for its operators at import, and fails when nobody has defined them. Transforms need
none of them. Import this before torchvision; with a complete installation it does nothing.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch

_NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def _compiled() -> bool:
    found = importlib.util.find_spec("torchvision")
    folder = Path(found.origin).parent if found and found.origin else None
    if folder is None or not any(folder.glob("_C*")):
        return False
    try:
        torch.ops.load_library(next(folder.glob("_C*")))
    except OSError:
        return False
    return True


library = None if _compiled() else torch.library.Library("torchvision", "DEF")
if library is not None:
    library.define(f"nms{_NMS}")
    library.define(f"qnms{_NMS}")
