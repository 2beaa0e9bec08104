"""What a rule says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["high", "medium", "low"]
Confidence = Literal["measured", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`gain_us_per_step` is an upper bound: the blamed time; None when the trace cannot bound it.

    `confidence`: `measured` when the figures in `evidence` are the finding itself, `likely` when they point to it,
    `possible` when another reason would give the same figures; the last two with a `confidence_reason`.
    """

    rule: str
    severity: Severity
    title: str
    advice: str
    evidence: tuple[str, ...]
    stage: str = ""
    gain_us_per_step: float | None = None
    code: str = ""
    confidence: Confidence = "measured"
    confidence_reason: str = ""


@dataclass(frozen=True, slots=True)
class Abstention:
    """A rule that could not tell, and what the trace lacks."""

    rule: str
    reason: str
