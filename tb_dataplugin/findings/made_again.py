"""Advice where DataLoader workers would each repeat what one process does once."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.findings.evidence import Evidence, number
from tb_dataplugin.units import plural

REASON: Final = "That the dataset keeps what these calls return is inferred from how rare they are."


def made_again(kept: KeptLoads, workers: str) -> str:
    """`workers`: who, "DataLoader workers"."""
    name = kept.stage.name
    return (
        f"What {workers} would save is not known: {name} is called for few batches and has most of the data wait, so "
        "the dataset seems to keep what it returns for the samples that follow. Consecutive batches go to different "
        f"workers, each of which would call it again. Make {name} faster first, or give each worker whole chunks: an "
        "IterableDataset that divides them among its workers (torch.utils.data.get_worker_info)."
    )


def rare_calls(kept: KeptLoads) -> Evidence:
    text = f"{plural(kept.calls, 'call')} of {kept.stage.name} in {plural(kept.batches, 'batch')}"
    return number("rare_calls", kept.calls, "count", text, stage=kept.stage.name)
