"""Findings that would save the same time: of data wait that only one of them can end one is shown, and the others are
its evidence; of the rest it is said what they save together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.findings.at_starts import at_starts_us
from tb_dataplugin.findings.epoch_length import recurring_us_per_step
from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.leading import leading_own
from tb_dataplugin.findings.recorded_part import recorded_wait_us
from tb_dataplugin.findings.saving import OF_STEP, until_workers_limit
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.step_advice import PINNING

STARVED: Final = ("uneven_workers", "head_of_line", "prefetch_too_shallow")
"""Rules about workers that are starved while the training thread waits, the most specific first: a slow worker holds up
finished batches of the others, and a queue that is full of them leaves workers without an index."""

DELIVERY: Final = (*STARVED, "transfer_heavy")
"""Rules about how finished batches come to the training thread."""

SAME: Final = 1 + 1e-9
"""Gains that are all there is, by another way of adding."""

COPIES: Final = frozenset(("blocking_copies", "unpinned_copies"))

OUTSIDE_WAIT: Final = COPIES | frozenset(
    ("collector_in_step", "launch_bound", "python_pauses", "slow_step_line", "sync_bound", "uneven_batches")
)
"""Rules about what the training thread does outside the data wait: with a device, how long that is idle for it."""

OF_CPUS: Final = "taken_cpus"
"""About what all stages in DataLoader workers take of the step, as those about single ones are in part."""

OUTSIDE: Final = "time outside the data wait"
PINNED: Final = "time, by pin_memory=True"


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
    leader = leading_own(signals)
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
    """`us` per step, at most, is what the findings at these places (from 1 on) save together. `of`: what they save."""

    us: float
    places: tuple[int, ...]
    of: str = "data wait"


def find_overlaps(findings: Sequence[NamedFinding], signals: Signals) -> tuple[Overlap, ...]:
    """What findings save together, at most, that claim the same time; without those whose gains add up."""
    ranked = list(enumerate(findings, start=1))
    of_wait = [(place, named) for place, named in ranked if named.gain.of_wait or named.rule == OF_CPUS]
    outside = [(place, named) for place, named in ranked if named.rule in OUTSIDE_WAIT]
    wait_us = _wait_us(signals, [named for _, named in of_wait])
    starts_us = (
        recurring_us_per_step(signals) if any(at_starts_us(named.finding.evidence) for _, named in of_wait) else 0
    )
    pinned = [(place, named) for place, named in ranked if named.rule == "unpinned_copies" or _pins(named)]
    pinning_us = max((_pins(named) for _, named in pinned), default=0.0)
    found = (
        _overlap(pinned, max(0.0, (signals.step_us or 0.0) - pinning_us), PINNED) if pinning_us else None,
        _overlap(of_wait, (signals.per_step(wait_us) or 0.0) + starts_us, _of_wait(signals, wait_us)),
        _overlap(outside, signals.per_step(_outside_us(signals, [named.rule for _, named in outside])), OUTSIDE),
    )
    return tuple(overlap for overlap in found if overlap is not None)


def _pins(named: NamedFinding) -> float:
    """What the thread that pins needs per step, where this finding wants it to free batches; else 0."""
    return next((fact.value or 0.0 for fact in named.finding.evidence if fact.kind == PINNING), 0.0)


def _overlap(ranked: Iterable[tuple[int, NamedFinding]], whole: float | None, of: str) -> Overlap | None:
    """Never less than one of them alone: bounds of different findings come from different facts."""
    claiming = {place: named.gain.us_per_step for place, named in ranked if named.gain.us_per_step}
    if not whole or len(claiming) < 2:
        return None
    together = max(whole, *claiming.values())
    return Overlap(together, tuple(claiming), of) if sum(claiming.values()) > together * SAME else None


def _of_wait(signals: Signals, wait_us: float) -> str:
    """More than the data wait itself can go where DataLoader workers give CPUs back to the step."""
    return "data wait and CPU time of the step" if wait_us > SAME * _unrecorded_us(signals) else "data wait"


def _wait_us(signals: Signals, claiming: Sequence[NamedFinding]) -> float:
    """All data wait but for what recording has, and of the step itself what each gives back, which is no more than
    DataLoader workers take.
    """
    of_step_us = sum(_of_step_us(named) for named in claiming if named.gain.us_per_step)
    if signals.taken is not None:
        most_us = signals.taken.saved_us(1.0)
        of_step_us = most_us if any(named.rule == OF_CPUS for named in claiming) else min(of_step_us, most_us)
    return _unrecorded_us(signals) + of_step_us


def _unrecorded_us(signals: Signals) -> float:
    return (signals.wait_cost_us or 0.0) - recorded_wait_us(signals)


def _outside_us(signals: Signals, rules: Sequence[str]) -> float:
    """All idle time of the device that is no data wait, and what these rules want of copying with no kernel beside it;
    without a device all time outside the data wait. But the loop gets no shorter than DataLoader workers allow.
    """
    idle, copies = signals.idle, signals.copies
    if idle.total_us is None:
        return until_workers_limit(signals, signals.own_window_us - (signals.data_wait_us or 0.0)).us
    copying = copies.copy_us - (copies.overlapped_us or 0.0) if copies and not COPIES.isdisjoint(rules) else 0.0
    return until_workers_limit(signals, idle.total_us - idle.by_cause_us.get("data_wait", 0.0) + copying).us


def _of_step_us(named: NamedFinding) -> float:
    """Of the window, the part of its gain that is not data wait."""
    return sum(fact.value or 0.0 for fact in named.finding.evidence if fact.kind == OF_STEP)
