"""What the data wait is mostly due to: the one answer for the verdict, its finding, and the order of findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tb_dataplugin.analyses.wait_parts import SHUTDOWN, STARTUP, STARVED, TRANSFER
from tb_dataplugin.findings.finding import NamedFinding
from tb_dataplugin.findings.reasons import Bound
from tb_dataplugin.findings.signals import Signals, StageCalls, StageWait
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


BLOCKED: Final = "blocked"
"""Evidence of this kind: more workers could wait at the same time. That hides the slow place, and does not mend it."""


def in_order(findings: Iterable[NamedFinding], signals: Signals) -> tuple[NamedFinding, ...]:
    """The largest gain first; those without a gain last, by severity.

    The order bends in one case: a finding about another stage never stands before the first one about the leading
    place, which the verdict names; nor does one about no stage that gains about as much, or about a setting
    that only hides that place.
    """
    ordered = sorted(findings, key=_urgency)
    leader = leading_place(signals)
    names = [named.finding.stage for named in ordered]
    if leader is not None and leader.name in names:
        own = names.index(leader.name)
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


def _urgency(named: NamedFinding) -> tuple[bool, float, int, bool]:
    finding = named.finding
    gain = finding.gain_us_per_step
    return gain is None, -(gain or 0.0), _RANK[finding.severity], finding.confidence == "possible"
