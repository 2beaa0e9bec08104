"""TensorBoard, in a fork of a Python that has imported it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from tests.support import warm

MODULES: Final = ("tensorboard.main", "numpy")
_START: Final = """
from tb_dataplugin.tb import entry
from tensorboard import default
from tensorboard.main import run_main
default.get_dynamic_plugins = lambda: [entry.DataPipelineLoader]
run_main()
"""


def start(*arguments: Any, before: str = "", env: Mapping[str, str] | None = None) -> warm.Program:
    """With its own plugins and ours. `before` runs in it first.

    Without torch_tb_profiler, which starts a new Python for each run in the log directory, all at once.
    """
    command = [sys.executable, "-c", f"{before}\n{_START}", *arguments]
    return warm.start(command, cwd=warm.ROOT, env=env, modules=MODULES)
