"""Plain captures have torch's own ``next()`` of a DataLoader and not ``iter()``, in which DataLoader workers start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.waits_of_others import OF_WORKERS, has_mark
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.model.intervals import int64

MESSAGE = (
    "Steps differ in how many waits for data they have, so an epoch or an evaluation may begin in the window. What "
    "iter(loader) takes, which starts DataLoader workers, is not in such a trace: it counts as the training step's"
)


def iter_notes(results: Results) -> Iterator[Diagnostic]:
    """Where an iterator may have been made: in a loop that goes on, steps wait alike."""
    loader, steps = results.loader, results.steps
    if results.trace.info.pipeline is not None or loader is None or loader.has_iter or steps is None:
        return
    if not has_mark(results.trace, loader.waits, OF_WORKERS).any():
        return
    begun = int64([row.start_ns for row in steps.rows])
    place = np.searchsorted(begun, loader.waits.start, side="right") - 1
    if len(set(np.bincount(place[place >= 0], minlength=len(begun)).tolist())) > 1:
        yield Diagnostic("loader", "iter_unknown", 1, MESSAGE)
