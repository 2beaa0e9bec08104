"""What a program is known by: the operators that its own code calls, whichever model, loader or machine runs them."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tb_dataplugin.analyses.host_activity import outermost_rows, read_host_activity
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import groups
from tb_dataplugin.model.events import Category
from tb_dataplugin.model.intervals import EMPTY, Window
from tb_dataplugin.model.trace import Trace

MOST_OPERATORS: Final = 200

_AUTOGRAD = re.compile(r"^autograd::engine::evaluate_function: |(?<=Backward)\d+$")
"""What torch versions write around the name of a backward function."""

_PROFILER = re.compile(r"^(annotate: |enumerate\(|ProfilerStep|torch::autograd::AccumulateGrad)")
"""Markers that torch versions record as operators, and that say nothing of the program."""


def find_operators(trace: Trace, window: Window, loader: LoaderWait | None) -> tuple[str, ...]:
    """Names of the outermost operators outside the data wait, sorted: with zero workers the loader's stand inside."""
    events = trace.events
    waits = EMPTY if loader is None else loader.waits
    rows = np.flatnonzero(
        read_host_activity(trace).launches
        & events.is_category(Category.CPU_OP)
        & (events.start_ns >= window.start_ns)
        & (events.start_ns < window.end_ns)
        & ~waits.contains(events.start_ns)
    )
    found: set[int] = set()
    for _, mine in groups(events.track, rows):
        found.update(events.name[outermost_rows(trace, mine)].tolist())
    names = {_AUTOGRAD.sub("", trace.names[number]) for number in found}
    return tuple(sorted(name for name in names if not _PROFILER.match(name))[:MOST_OPERATORS])
