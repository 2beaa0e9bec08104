"""What TensorBoard's entry point loads. A plugin that fails here kills all of TensorBoard, so this module imports the
standard library only and never raises; what can fail is imported in `load`, which TensorBoard guards and so do we.
"""

from __future__ import annotations

import logging
from typing import Any

_LOADER = "DataPipelineLoader"


def __getattr__(name: str) -> Any:
    """Makes the loader class on demand: its base class lives in tensorboard, which asks for it."""
    if name != _LOADER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorboard.plugins import base_plugin

    return type(_LOADER, (base_plugin.TBLoader,), {"load": _load, "__doc__": "Loads the Data Pipeline tab."})


def _load(self: object, context: object) -> object | None:
    """The plugin, or None with one line in the log when it cannot be loaded."""
    try:
        from tb_dataplugin.tb.plugin import DataPipelinePlugin

        return DataPipelinePlugin(context)
    except Exception as error:
        reason = "".join(char if char.isprintable() else " " for char in f"{type(error).__name__}: {error}")
        logging.getLogger("tensorboard").warning("The Data Pipeline tab is not shown: %s", reason)
        return None
