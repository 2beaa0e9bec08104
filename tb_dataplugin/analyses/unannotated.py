"""Waits for batches of DataLoaders that are not annotated, which the data wait of the loop has in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tb_dataplugin.analyses.loader_passes import UNKNOWN
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


def alike_notes(results: Results) -> Iterator[Diagnostic]:
    """Waits for one of several DataLoaders that nothing tells from each other."""
    pipeline = results.trace.info.pipeline
    kinds = Counter(
        (one.dataset, one.batch_size) for one in (pipeline.loaders if pipeline else ()) if not one.num_workers
    )
    alike = [(kind, many) for kind, many in kinds.items() if many > 1 and kind[0]]
    waits = int((results.use.of_wait == UNKNOWN).sum())
    if not alike or not waits:
        return
    (dataset, batch_size), many = alike[0]
    of = f" (batches of {batch_size})" if batch_size else ""
    message = (
        f"Which of {many} DataLoaders of {dataset}{of}, without DataLoader workers, {plural(waits, 'wait')} "
        f"{'was' if waits == 1 else 'were'} for is not known: these count as the training loop's, also those of an "
        "evaluation. Give the training loop's to prof.steps(...), or capture again if annotate was older than 0.2"
    )
    yield Diagnostic("workers", "loaders_alike", 1, message)
