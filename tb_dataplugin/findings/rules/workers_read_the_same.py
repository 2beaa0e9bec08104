"""Each DataLoader worker of an iterable dataset reads all of it."""

from __future__ import annotations

from tb_dataplugin.analyses.undivided import Undivided, find_undivided
from tb_dataplugin.findings.dividing import CODE, OWN_STATE, STATE
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WASTED
from tb_dataplugin.units import percent

LOOK = "Look into __iter__: it has to use get_worker_info(), or each item is trained on once per DataLoader worker."


ADVICE = (
    "Each worker has a copy of the iterable dataset, and iterates all of it. Give each its own part in __iter__, by "
    "get_worker_info()."
)


@rule(title="DataLoader workers that read the same", about="workers", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    """By the sizes of items; where these do not show it, by the dataset's code."""
    twins, unknown, loader = signals.waste.twins, signals.waste.twins_unknown, signals.loader
    if unknown:
        undivided = find_undivided(loader)
        if undivided is not None and undivided.is_certain:
            return _by_code(undivided, signals.num_workers or 0)
        if undivided is None and loader is not None and (loader.divided or loader.drawn):
            return None
        return Abstention(f"{unknown}, so it is not known whether each reads all of the dataset. {LOOK}")
    if twins is None or twins.share < WASTED:
        return None
    is_drawn = loader is not None and bool(loader.drawn)
    text = f"{twins.workers} DataLoader workers read items of the same sizes in the same order"
    return Finding(
        severity="high",
        title=f"{twins.workers} DataLoader workers read the same items, each item {twins.workers} times in an epoch",
        advice=STATE.strip() if is_drawn else ADVICE,
        evidence=(share("items_again", twins.share, "items", f"{text}: {percent(twins.share)} of them are repeats"),),
        code=OWN_STATE if is_drawn else CODE,
        confidence="likely",
        confidence_reason="That they are repeats is inferred from their sizes; different items may have equal sizes.",
    )


def _by_code(undivided: Undivided, workers: int) -> Finding:
    dataset, reason = undivided.dataset, "Inferred from the dataset's code: what workers read could not be compared."
    return Finding(
        severity="high",
        title=f"{workers} DataLoader workers each read all of {dataset}: every item comes {workers} times in an epoch",
        advice=ADVICE,
        evidence=(Evidence("undivided", f"nothing in the code of {dataset} divides it among DataLoader workers"),),
        code=CODE,
        confidence="possible" if undivided.may_draw else "likely",
        confidence_reason=f"{reason} One that draws its items at random has none to divide."
        if undivided.may_draw
        else reason,
    )
