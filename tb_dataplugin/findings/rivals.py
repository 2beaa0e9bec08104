"""Findings that would end the same data wait: only one of them can, so one is shown and the others are its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.leading import leading_place
from tb_dataplugin.findings.saving import OF_STEP
from tb_dataplugin.findings.signals import Signals

STARVED: Final = ("uneven_workers", "head_of_line", "prefetch_too_shallow")
"""Rules about workers that are starved while the training thread waits, the most specific first: a slow worker holds up
finished batches of the others, and a queue that is full of them leaves workers without an index."""

DELIVERY: Final = (*STARVED, "transfer_heavy")
"""Rules about how finished batches come to the training thread."""


def without_rivals(findings: Sequence[NamedFinding], signals: Signals) -> list[NamedFinding]:
    """Of findings by `STARVED` one, and of it and the transfer one where both claim more than there is to gain: the one
    about what the verdict names, else the most specific one. A finding without a gain claims nothing.
    """
    found = [named for named in findings if named.finding.gain_us_per_step]
    kept = _one_of(list(findings), [named for named in found if named.rule in STARVED], signals)
    rivals = [named for named in kept if named.rule in DELIVERY and named.finding.gain_us_per_step]
    whole = signals.per_step(signals.wait_cost_us or 0.0) or 0.0
    too_much = sum(named.finding.gain_us_per_step or 0.0 for named in rivals) > whole
    return _one_of(kept, rivals, signals) if too_much else kept


def _one_of(findings: list[NamedFinding], rivals: list[NamedFinding], signals: Signals) -> list[NamedFinding]:
    if len(rivals) < 2:
        return findings
    leader = leading_place(signals)
    name = leader.name if leader else None
    kept = min(rivals, key=lambda named: (named.finding.stage != name, DELIVERY.index(named.rule)))
    joined = _with(kept, [named for named in rivals if named is not kept])
    others = {named.rule for named in rivals}
    return [joined if named is kept else named for named in findings if named is kept or named.rule not in others]


def _with(kept: NamedFinding, others: Iterable[NamedFinding]) -> NamedFinding:
    known = [fact.text for fact in kept.finding.evidence]
    titles = [named.finding.title for named in others]
    facts = [
        Evidence("same_wait", f"also about this data wait, so not listed by itself: {_lowered(title)}")
        for title in titles
        if not any(text in title for text in known)  # it is said already
    ]
    finding = replace(kept.finding, evidence=(*kept.finding.evidence, *facts))
    return replace(kept, finding=finding)


def _lowered(title: str) -> str:
    """As it stands within a sentence."""
    return title if title.startswith("DataLoader") else title[0].lower() + title[1:]


@dataclass(frozen=True, slots=True)
class Overlap:
    """`us` per step, at most, is what the findings at these places (from 1 on) save together."""

    us: float
    places: tuple[int, ...]


def find_overlap(findings: Iterable[NamedFinding], signals: Signals) -> Overlap | None:
    """What findings save together, at most, that claim the same data wait: all of it, and of the step itself
    what each of them gives back, which is no more than DataLoader workers take. None where their gains add up.
    """
    ranked = [
        (place, named) for place, named in enumerate(findings, start=1) if named.gain.of_wait and named.gain.us_per_step
    ]
    claiming = [named for _, named in ranked]
    of_step_us = sum(_of_step_us(named) for named in claiming)
    if signals.taken is not None:
        of_step_us = min(of_step_us, signals.taken.saved_us(1.0))
    whole = signals.per_step((signals.wait_cost_us or 0.0) + of_step_us)
    gains = sum(named.gain.us_per_step or 0.0 for named in claiming)
    if not whole or len(claiming) < 2 or gains <= whole:
        return None
    return Overlap(whole, tuple(place for place, _ in ranked))


def _of_step_us(named: NamedFinding) -> float:
    """Of the window, the part of its gain that is not data wait."""
    return sum(fact.value or 0.0 for fact in named.finding.evidence if fact.kind == OF_STEP)
