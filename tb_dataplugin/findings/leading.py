"""What the data wait is mostly due to: the one answer for the verdict, its finding, and the order of findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from tb_dataplugin.analyses.wait_parts import SHUTDOWN, STARTUP, STARVED, TRANSFER
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.reasons import Bound
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import LEADING_STAGE
from tb_dataplugin.words import SEVERITIES

NAMED: Final[dict[str, Bound]] = {TRANSFER: "transfer", STARTUP: "cpu", SHUTDOWN: "cpu", STARVED: "host"}
"""Data wait that no stage caused but that says something: a slow way home, workers not running, workers starved."""

_RANK: Final = {term.id: place for place, term in enumerate(SEVERITIES)}


def leading_place(signals: Signals) -> StageWait | None:
    """What caused the largest part of the data wait, of what has a name; None where that is too little to lead.

    Time between stages has no name: where it is the largest part, the largest stage leads.
    """
    largest = max(_places(signals), key=lambda wait: wait.data_wait_us, default=None)
    return largest if largest is not None and largest.share >= LEADING_STAGE else None


def _places(signals: Signals) -> Iterator[StageWait]:
    """All that has a name; the parts of the transfer are one place."""
    transfer = signals.wait_for_kinds("transfer")
    if transfer is not None:
        yield transfer
    for wait in signals.waits_by_stage or ():
        if (wait.stage is not None and wait.stage.kind != "transfer") or (
            wait.stage is None and wait.name in (STARTUP, SHUTDOWN, STARVED)
        ):
            yield wait


def most_waited_for(signals: Signals, rows: Iterable[StageCalls]) -> str:
    """Of these stages, the name of the one that caused most data wait; "" where none did.

    A finding about several stages names this one, so that one about the leading place among others names that.
    """
    names = {row.stage.name for row in rows}
    return next((wait.name for wait in signals.waits_by_stage or () if wait.name in names), "")


ALIKE: Final = 1.05
"""Gains that differ by a smaller factor are alike: windows differ by more."""

MUCH: Final = 0.5
"""Part of the largest gain from which a finding may stand before it."""

BLOCKED: Final = "blocked"
"""Evidence of this kind: more workers could wait at the same time. That hides the slow place, and does not mend it."""


def in_order(findings: Iterable[NamedFinding], signals: Signals) -> tuple[NamedFinding, ...]:
    """The largest gain first, of those that are not of low severity; behind them those without a gain, by severity, and
    those of low severity. Gains that are alike (several may end all of the data wait) do not rank: of these the
    finding comes first whose stage caused more of the data wait.

    The order bends in one case: a finding about another stage never stands before the first one about the leading
    place, which the verdict names; nor does one about no stage that gains about as much, or about a setting
    that only hides that place. It does not bend where the leading place's finding saves far less than the first one.
    """
    ordered = _ranked(sorted(findings, key=_urgency), signals)
    leader = leading_place(signals)
    names = [named.finding.stage for named in ordered]
    if leader is not None and leader.name in names and _leads(ordered, own := names.index(leader.name)):
        least = ALIKE * (ordered[own].finding.gain_us_per_step or 0.0)
        after = [
            bool(named.finding.stage)
            or any(fact.kind == BLOCKED for fact in named.finding.evidence)
            or (named.finding.gain_us_per_step is not None and named.finding.gain_us_per_step < least)
            for named in ordered
        ]
        first = after.index(True)
        ordered.insert(min(first, own), ordered.pop(own))
    return tuple(ordered)


def _leads(ordered: Sequence[NamedFinding], own: int) -> bool:
    """Whether what the finding at `own` saves is unknown, or much beside the first one's gain."""
    gain = ordered[own].finding.gain_us_per_step
    return gain is None or gain >= MUCH * (ordered[0].finding.gain_us_per_step or 0.0)


def _urgency(named: NamedFinding) -> tuple[bool, bool, float, int, bool]:
    finding = named.finding
    gain = finding.gain_us_per_step
    low = finding.severity == "low"
    return low, gain is None, -(gain or 0.0), _RANK[finding.severity], finding.confidence == "possible"


def _ranked(findings: Sequence[NamedFinding], signals: Signals) -> list[NamedFinding]:
    """Neighbours whose gains are alike, by the data wait that their stages caused; the others as they stand."""
    if not findings:
        return []
    most = findings[0]
    alike = list(takewhile(lambda named: _are_alike(most, named), findings))
    ranked = sorted(alike, key=lambda named: -_caused_us(named, signals))
    return [*ranked, *_ranked(findings[len(alike) :], signals)]


def _are_alike(most: NamedFinding, named: NamedFinding) -> bool:
    gain, other = most.finding.gain_us_per_step, named.finding.gain_us_per_step
    if gain is None or other is None:
        return most is named
    return (most.finding.severity == "low") == (named.finding.severity == "low") and other * ALIKE >= gain


def _caused_us(named: NamedFinding, signals: Signals) -> float:
    """0 for a finding about no stage: what it is about has no part of the data wait."""
    return next((place.data_wait_us for place in _places(signals) if place.name == named.finding.stage), 0.0)
