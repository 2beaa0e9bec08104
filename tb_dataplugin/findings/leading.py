"""What the data wait is mostly due to: the one answer for the verdict, its finding, and the order of findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import Final

from tb_dataplugin.analyses.wait_parts import OTHER_LOADER, SHUTDOWN, STARTUP, STARVED, TRANSFER
from tb_dataplugin.findings.finding import Finding, NamedFinding
from tb_dataplugin.findings.foresight import SHORT_OF_CPUS
from tb_dataplugin.findings.reasons import Bound
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import LEADING_STAGE
from tb_dataplugin.units import DIGITS
from tb_dataplugin.words import SEVERITIES

NAMED: Final[dict[str, Bound]] = {
    TRANSFER: "transfer",
    STARTUP: "cpu",
    SHUTDOWN: "cpu",
    STARVED: "host",
    OTHER_LOADER: "unknown",
}
"""Data wait that no stage caused but that says something: a slow way home, workers not running, workers starved,
another DataLoader."""

_RANK: Final = {term.id: place for place, term in enumerate(SEVERITIES)}


def leading_place(signals: Signals) -> StageWait | None:
    """What caused the largest part of the data wait, of what has a name; None where that is too little to lead.

    Time between stages has no name: where it is the largest part, the largest stage leads.
    """
    largest = max(_places(signals), key=lambda wait: wait.data_wait_us, default=None)
    return largest if largest is not None and largest.share >= LEADING_STAGE else None


def leading_own(signals: Signals) -> StageWait | None:
    """The same of the data wait for annotated DataLoaders: what findings are about where the leading place is another's
    that is not annotated.
    """
    leader = leading_place(signals)
    if leader is None or leader.name != OTHER_LOADER:
        return leader
    own = (place for place in _places(signals) if place.name != OTHER_LOADER)
    largest = max(own, key=lambda wait: wait.data_wait_us, default=None)
    return largest if largest is not None and largest.share >= LEADING_STAGE * (1 - leader.share) else None


def _places(signals: Signals) -> Iterator[StageWait]:
    """All that has a name; the parts of the transfer are one place."""
    transfer = signals.wait_for_kinds("transfer")
    if transfer is not None:
        yield transfer
    for wait in signals.waits_by_stage or ():
        if (wait.stage is not None and wait.stage.kind != "transfer") or (
            wait.stage is None and wait.name in (STARTUP, SHUTDOWN, STARVED, OTHER_LOADER)
        ):
            yield wait


def most_waited_for(signals: Signals, rows: Iterable[StageCalls]) -> str:
    """Of these stages, the name of the one that caused most data wait; "" where none did.

    A finding about several stages names this one, so that one about the leading place among others names that.
    """
    names = {row.stage.name for row in rows}
    return next((wait.name for wait in signals.waits_by_stage or () if wait.name in names), "")


def in_order(findings: Iterable[NamedFinding], signals: Signals) -> tuple[NamedFinding, ...]:
    """By severity, which is what the list shows first; within one by what they save, or may save
    (`Finding.may_save_us_per_step`), the most first, then those of which that is not known. Where a bound takes more
    CPUs for granted than there are, what is likely counts.

    Of gains that read the same (several may end all of the data wait) that comes first whose stage caused more of it.
    """
    return tuple(sorted(findings, key=lambda named: _place(named, signals)))


def _place(named: NamedFinding, signals: Signals) -> tuple[int, bool, float, float, bool]:
    finding = named.finding
    gain = finding.may_save_us_per_step if finding.gain_us_per_step is None else finding.gain_us_per_step
    saved = float(f"{min(gain or 0.0, _likely_us(finding, signals)):.{DIGITS}g}")
    caused = _caused_us(named, signals)
    return _RANK[finding.severity], gain is None, -saved, -caused, finding.confidence == "possible"


def _likely_us(finding: Finding, signals: Signals) -> float:
    step_us = next((fact.value for fact in finding.evidence if fact.kind == SHORT_OF_CPUS), None)
    return inf if step_us is None or signals.step_us is None else max(0.0, signals.step_us - step_us)


def _caused_us(named: NamedFinding, signals: Signals) -> float:
    """0 for a finding about no stage: what it is about has no part of the data wait."""
    return next((place.data_wait_us for place in _places(signals) if place.name == named.finding.stage), 0.0)
