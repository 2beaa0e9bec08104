"""There are more DataLoader workers than there is to share out."""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import plural
from tb_dataplugin.whatif import Change


@rule(title="DataLoader workers without work", about="workers", workers=True)
def check(signals: Signals) -> Finding | None:
    unused = signals.waste.unused
    if unused is None:
        return None
    busy = unused.workers - unused.idle
    advice = (
        f"Split the data into at least {unused.workers} shards, or set num_workers={busy}: an iterable dataset gives "
        "each worker whole shards, and the others end at once."
        if unused.batches is None
        else f"An epoch has {plural(unused.batches, 'batch')}: set num_workers={busy}, or make smaller batches."
    )
    text = f"{unused.idle} of {plural(unused.workers, 'DataLoader worker')} built no batch in the epoch"
    return Finding(
        severity="medium",
        title=f"{unused.idle} of {plural(unused.workers, 'DataLoader worker')} had nothing to do",
        advice=advice,
        evidence=(share("workers_unused", unused.share, "DataLoader workers", text),),
        code=f"DataLoader(..., num_workers={busy})",
        change=Change(workers=busy),
        confidence="likely",
        confidence_reason="The workers without a batch may have been recorded too late.",
    )
