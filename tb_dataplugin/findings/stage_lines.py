"""Hottest lines of stages: of the chosen steps, or of the whole capture where these are too few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.line_signals import HotLine, hottest


def _mean_call_ns(results: Results, name: str, *, chosen: bool) -> float:
    """Self time of a call of that stage, of all recorded steps or of the chosen ones: a line that takes more of the
    former than the latter take at all is that of other calls. 0 without any.
    """
    tree = results.tree
    mine = np.array([path[-1].name == name for path in tree.paths], dtype=np.bool_)[tree.node]
    own = tree.self_ns[mine & tree.starts_in(results.window)] if chosen else tree.self_ns[mine]
    return float(own.mean()) if len(own) else 0.0


def stage_lines(results: Results) -> Iterator[tuple[str, HotLine]]:
    """Of the chosen steps, where these have enough samples of a stage; else of the whole capture."""
    lines = results.lines
    if lines is None:
        return
    for name, line in hottest((stage.name, part) for stage, part in lines.whole_stages.items()):
        here = _mean_call_ns(results, name, chosen=True)
        if not here or line.share * _mean_call_ns(results, name, chosen=False) <= here:
            yield name, replace(line, in_whole_capture=True)
    yield from hottest((stage.name, part) for stage, part in lines.serving.items())
