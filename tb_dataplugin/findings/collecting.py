"""What to do where the user's own line runs Python's garbage collector."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.line_patterns import COLLECTS
from tb_dataplugin.findings.line_signals import HotLine
from tb_dataplugin.findings.thresholds import ONE_LINE

ADVICE: Final = (
    "Remove the call: Python collects by itself, and each call walks through all objects that are alive, with "
    "Python's lock (GIL) held, wherever it runs. If memory grows without it, find what keeps the objects. If it has to "
    "stay, call gc.freeze() once model and dataset are built, so that it passes over what was there by then."
)
FREEZE: Final = "import gc\n\ngc.collect()\ngc.freeze()  # once, before the loop"


def is_collecting(line: HotLine | None) -> bool:
    """Whether most of the time is in such a line."""
    return line is not None and line.share >= ONE_LINE and bool(COLLECTS.search(line.source))
