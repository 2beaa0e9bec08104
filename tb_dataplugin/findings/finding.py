"""What a rule says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`gain_us_per_step` is an upper bound: the blamed time; None when the trace cannot bound it."""

    rule: str
    severity: Severity
    title: str
    advice: str
    evidence: tuple[str, ...]
    stage: str = ""
    gain_us_per_step: float | None = None
    code: str = ""
