"""What is said where torch is missing: the viewer is installed without it."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def need_torch(name: str) -> None:
    """Raises ModuleNotFoundError, with what to do, where torch is not installed. Imports nothing.

    Args:
        name: of ours, that was called.
    """
    if "torch" not in sys.modules and find_spec("torch") is None:
        raise ModuleNotFoundError(
            f"annotate.{name} needs torch, which is not installed in this environment: "
            "pip install tb-dataplugin[torch]",
            name="torch",
        )
