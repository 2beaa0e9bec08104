"""Each worker of a DataLoader that is not the loop's reads all of its iterable dataset, as far as the code shows."""

from __future__ import annotations

from tb_dataplugin.analyses.loader_names import name_of
from tb_dataplugin.analyses.remade import settings_of
from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.dividing import CODE
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.model.trace import LoaderInfo

ADVICE = (
    "Each worker has a copy of the iterable dataset, and iterates all of it: an evaluation takes as many times the "
    "batches, and counts each item as often. Give each worker its own part in __iter__, by get_worker_info(), or have "
    "one worker (num_workers=1)."
)


@rule(title="Workers of another DataLoader that read the same", about="others")
def check(signals: Signals) -> tuple[Finding, ...]:
    """Loaders of the same settings are one: a program may make its DataLoader anew each time."""
    others = signals.apart.others if signals.apart else ()
    loaders = dict.fromkeys(settings_of(other.loader) for other in others if other.loader and not other.is_look)
    return tuple(found for found in map(_finding, loaders) if found is not None)


def _finding(loader: LoaderInfo) -> Finding | None:
    undivided, workers = find_undivided(loader), loader.num_workers or 0
    if undivided is None or not undivided.is_certain or workers < 2:
        return None
    dataset = undivided.dataset
    reason = "Inferred from the dataset's code: what workers read was not compared."
    return Finding(
        severity="high",
        title=f"{workers} DataLoader workers of another DataLoader each read all of {dataset}: every item comes "
        f"{workers} times in a pass over it",
        advice=ADVICE,
        evidence=(
            Evidence("undivided", f"nothing in the code of {dataset} divides it among DataLoader workers"),
            Evidence("settings", name_of(loader)),
        ),
        code=CODE,
        of_loader=loader,
        confidence="possible" if undivided.may_draw else "likely",
        confidence_reason=f"{reason} One that draws its items at random has none to divide."
        if undivided.may_draw
        else reason,
    )
