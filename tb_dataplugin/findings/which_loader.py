"""Which DataLoader is meant, where the program has several."""

from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.throughput import count_loaders
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.model.trace import LoaderInfo


def loops_loader(signals: Signals) -> str:
    """What findings on the loop are about, ``the DataLoader of Pets (batches of 8)``: titles say how many workers it
    has; "" where there is only one.
    """
    if not signals.has_several_loaders or signals.loader is None:
        return ""
    return name_of(replace(signals.loader, num_workers=None))


def loader_names(results: Results) -> dict[int, str]:
    """By number, where there are several."""
    pipeline = results.trace.info.pipeline
    known = ((number, which_loader(results, number)) for number in range(len(pipeline.loaders) if pipeline else 0))
    return {number: name_of(loader) for number, loader in known if loader is not None}


def which_loader(results: Results, number: int) -> LoaderInfo | None:
    """None where there is only one. By its number, as in the table of workers, where others have the same settings."""
    pipeline = results.trace.info.pipeline
    if pipeline is None or count_loaders(results.trace, results.use) < 2 or number >= len(pipeline.loaders):
        return None
    found = pipeline.loaders[number]
    if sum(name_of(loader) == name_of(found) for loader in pipeline.loaders) > 1:
        return replace(found, dataset=f"{found.dataset or 'a dataset'}, number {number}")
    return found
