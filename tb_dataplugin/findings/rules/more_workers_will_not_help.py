"""The workers are busy and no CPU is free: another worker would only share them.

Where other programs have the CPUs, or other processes that this one started, it would have a share of its own, which
these lose: what that brings is not known.
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.other_programs import OtherPrograms, counted_as_others
from tb_dataplugin.findings.capacity import held_by_children, held_by_others, judge_cpus
from tb_dataplugin.findings.dividing import First, divide_first
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.more_workers import faster_with, most_with
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import WORKERS_BUSY
from tb_dataplugin.units import percent, plural, significant
from tb_dataplugin.whatif import Change

Facts = tuple[Evidence, ...]

LESS: Final = "Do less work per sample, or move work elsewhere: to the device, into the data on disk, or to more CPUs."


@rule(title="No CPU free for more DataLoader workers", about="workers", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | None:
    busy, workers = signals.workers, signals.num_workers
    if busy is None or workers is None:
        return None
    capacity = judge_cpus(signals)
    if busy.busy < WORKERS_BUSY or not capacity.saturated:
        return None
    text = f"num_workers={workers}, busy for {percent(busy.busy)} {busy.of_whole}"
    facts = (share("workers_busy", busy.busy, busy.whole, text), *capacity.evidence)
    others, children = held_by_others(signals), held_by_children(signals)
    if children is not None and children.children is not None:
        return _beside_children(children, children.children, workers, facts, divide_first(signals, workers + 1))
    if others is None:
        more = signals.foresight.faster_workers if signals.foresight else None
        return _in_vain(signals.cpus, workers, facts) if more is None else _yet(signals, more, workers, facts)
    return _unknown(others, workers, facts, divide_first(signals, workers + 1))


def _unknown(others: OtherPrograms, workers: int, facts: tuple[Evidence, ...], divide: First) -> Finding:
    cpus = f"{significant(others.others)} of the {plural(others.cores, 'CPU')}"
    return Finding(
        severity="low",
        title=f"Whether more DataLoader workers help is unknown: other programs have {cpus}",
        advice="Record again when these do not run: then it shows whether a CPU is free for more. Beside them, each "
        "further DataLoader worker gets a share of the CPUs, partly at their expense, so that batches may come faster: "
        f"where the machine is always shared, try num_workers={workers + 1} and measure. {divide.advice}Less work per "
        "sample helps in either case.",
        evidence=facts,
        code=f"{divide.code}DataLoader(..., num_workers={workers + 1})",
        confidence="possible",
        confidence_reason=counted_as_others(others),
    )


def _beside_children(found: OtherPrograms, had: float, workers: int, facts: Facts, divide: First) -> Finding:
    """`had`: CPUs."""
    return Finding(
        severity="low",
        title=f"Whether more DataLoader workers help is unknown: other child processes of this program have "
        f"{significant(had)} of the {plural(found.cores, 'CPU')}",
        advice="Each further DataLoader worker gets a share of the CPUs, partly at their expense: batches may come "
        f"faster, and what these do takes longer. Try num_workers={workers + 1} and measure both; or let these do less "
        f"while the training goes on. {divide.advice}Less work per sample helps in either case.",
        evidence=facts,
        code=f"{divide.code}DataLoader(..., num_workers={workers + 1})",
        confidence="possible",
        confidence_reason="What they would lose, and whether the training waits for it, is not known.",
    )


def _yet(signals: Signals, more: int, workers: int, facts: tuple[Evidence, ...]) -> Finding:
    """`more`: DataLoader workers with which `whatif` expects clearly shorter steps: CPUs that are full while batches
    are built may be free at other times.
    """
    change, divide = Change(workers=more), divide_first(signals, more)
    promise = signals.promise(change, most_with(signals, faster_with(signals, more, workers)))
    return Finding(
        severity="low",
        title=f"More DataLoader workers may help, though {_none_free(signals.cpus)}",
        advice=f"{divide.advice}Try num_workers={more} and measure again: more DataLoader workers share the CPUs with "
        f"those that there are, and with the training step. {LESS}",
        evidence=(*facts, *promise.why),
        gain_us_per_step=promise.us_per_step,
        code=f"{divide.code}DataLoader(..., num_workers={more})",
        change=change,
        confidence="possible",
        confidence_reason="What they would take from the processes that have the CPUs now is estimated.",
    )


def _none_free(cpus: float | None) -> str:
    return f"none of the {f'{cpus:g} ' if cpus else ''}CPUs is free"


def _in_vain(cpus: float | None, workers: int, facts: tuple[Evidence, ...]) -> Finding:
    fewer = cpus is not None and workers > cpus
    less = (
        f" {plural(int(cpus), 'DataLoader worker')} would do the same work with fewer context switches."
        if cpus and fewer
        else ""
    )
    return Finding(
        severity="low",
        saves=False,
        title=f"More DataLoader workers will not help: {_none_free(cpus)}",
        advice=f"{LESS}{less}",
        evidence=facts,
        code=f"DataLoader(..., num_workers={int(cpus)})" if cpus and fewer and cpus >= 1 else "",
        change=Change(workers=int(cpus)) if cpus and fewer and cpus >= 1 else None,
    )
