"""Reads Kineto Chrome traces and shows where every idle device microsecond went. Imports and runs without torch.

    report = tb_dataplugin.read_report("runs/exp1")     # a folder or trace files
    report[0].loader.wait_us                            # data wait of the first capture, in microseconds
    print(report)                                       # the terminal's text; a notebook shows the page
    tb_dataplugin.what_if("runs/exp1/a.pt.trace.json.gz", workers=4).step_us       # predicted, with a 90% interval

Importing this package imports nothing else: the reader and its dependencies are loaded by the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tb_dataplugin.version import VERSION

if TYPE_CHECKING:
    from tb_dataplugin.api import Report, read_report, what_if

__version__ = VERSION
__all__ = ["Report", "__version__", "read_report", "what_if"]


def __getattr__(name: str) -> Any:
    if name not in ("Report", "read_report", "what_if"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tb_dataplugin import api

    return getattr(api, name)
