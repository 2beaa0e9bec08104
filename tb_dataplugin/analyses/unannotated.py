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


def drawn_from(results: Results) -> str:
    """In which steps: "in every step", "in 5 of 48 steps"; "" where that is not known."""
    steps, places = len(results.steps.rows) if results.steps else 0, results.use.unannotated
    drawn = int(((places >= 0) & (places < steps)).sum())
    if not drawn:
        return ""
    return "in every step" if drawn == steps else f"in {drawn} of {plural(steps, 'step')}"


def unannotated_notes(results: Results) -> Iterator[Diagnostic]:
    waits, where = find_unannotated(results), drawn_from(results)
    if len(waits):
        drawn = f" and is drawn from {where}" if where else ""
        message = (
            f"Another DataLoader, which is not annotated{drawn}, has {duration(waits.total_ns / 1e3)} of the data wait "
            f"in {plural(len(waits), 'wait')}. Nothing shows what these are for, so no stage, DataLoader worker or "
            "gain counts them. Call annotate.auto() before the loop, which follows all DataLoaders, or give that "
            "one to annotate.loader(...)"
        )
        yield Diagnostic("workers", "unannotated_loader", 1, message)
