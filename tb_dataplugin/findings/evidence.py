"""One measured fact that a verdict or a finding rests on: a number for programs, a line for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["us", "share", "count", "bytes", "ratio", "cores", ""]


@dataclass(frozen=True, slots=True)
class Evidence:
    """`kind` is a stable identifier. `text` says it in words, with its number and without a full stop.

    `value` is in `unit`; None where the text has several values or none. `whole`: what a share is of, or an amount is
    per. `stage`: the stage it is about. `in_sentence`: the sentence or title above it says it already.
    """

    kind: str
    text: str
    value: float | None = None
    unit: Unit = ""
    whole: str = ""
    stage: str = ""
    in_sentence: bool = False


def share(kind: str, value: float, whole: str, text: str, stage: str = "") -> Evidence:
    return Evidence(kind, text, value, "share", whole, stage)


def time(kind: str, value_us: float, text: str, whole: str = "", stage: str = "") -> Evidence:
    return Evidence(kind, text, value_us, "us", whole, stage)


def number(kind: str, value: float, unit: Unit, text: str, whole: str = "", stage: str = "") -> Evidence:
    return Evidence(kind, text, value, unit, whole, stage)
