"""Waits for batches of DataLoaders that are not annotated, which the data wait of the loop has in it."""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.model.intervals import Intervals
from tb_dataplugin.units import duration, plural


def find_unannotated(results: Results) -> Intervals:
    """What is certainly for another DataLoader than the recorded ones, and is not told apart."""
    return results.use.certain.minus(results.loop.apart.waits)


def unannotated_notes(results: Results) -> Iterator[Diagnostic]:
    waits = find_unannotated(results)
    if len(waits):
        message = (
            f"Another DataLoader, which is not annotated, has {duration(waits.total_ns / 1e3)} of the data wait in "
            f"{plural(len(waits), 'wait')} (an evaluation?). What the report says of the loop has that in it. Call "
            "annotate.auto() before the loop, which follows all DataLoaders, or give that one to annotate.loader(...)"
        )
        yield Diagnostic("workers", "unannotated_loader", 1, message)
