"""What a rule says, and what the engine makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.gain import Gain
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.whatif.change import Change

Severity = Literal["high", "medium", "low"]
Confidence = Literal["measured", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`gain_us_per_step` is an upper bound: the data wait that would go; None when the trace cannot bound it.

    `confidence`: `measured` when the numbers in `evidence` are the finding itself, `likely` when they point to it,
    `possible` when another reason would give the same numbers; the last two with a `confidence_reason`.
    `title` has no full stop, `advice` and `confidence_reason` are sentences.
    """

    severity: Severity
    title: str
    advice: str
    evidence: tuple[Evidence, ...]
    stage: str = ""
    title_stage: str = ""
    """The stage that the title is about, where `stage`, whose data wait would go, is another one."""
    gain_us_per_step: float | None = None
    may_save_us_per_step: float | None = None
    """Time that it is about, for its place among the others where its gain is not known."""
    code: str = ""
    confidence: Confidence = "measured"
    confidence_reason: str = ""
    change: Change | None = None
    """The settings of the DataLoader that it advises, for `whatif` to predict."""
    of_loader: LoaderInfo | None = None
    """Whose settings `code` is about, where that is another DataLoader than the training loop's."""
    saves: bool = True
    """False: it says what would not help."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """An inconclusive check, and what the capture lacks."""

    reason: str


@dataclass(frozen=True, slots=True)
class NamedFinding:
    """A finding with the rule that made it, and its gain in every form that is shown."""

    rule: str
    finding: Finding
    gain: Gain


@dataclass(frozen=True, slots=True)
class NamedAbstention:
    """An inconclusive check with its rule; `title` says what is checked."""

    rule: str
    title: str
    reason: str
