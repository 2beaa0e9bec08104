"""Options of reading and analysing, passed whole."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class StepRange:
    """Steps by their numbers, both ends included."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> StepRange:
        """From "3..7", or "5" for one step. Raises ValueError with a line that says what was expected."""
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:\.\.\s*(\d{1,9})\s*)?", text, re.ASCII)
        if match is None:
            raise ValueError(f"steps {text!r} is not a range of steps; write the first and the last one, as in 3..7")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise ValueError(f"steps {first}..{last} ends before it begins; write {last}..{first}")
        return cls(first, last)

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """`max_gaps`: how many idle gaps per device the report lists (largest first); all of them are counted.

    `steps`: the only steps that the numbers are about; None: all of the capture's window. `whole_stacks`: trees of
    sampled stacks keep all of their nodes, however short, and are there however few the samples; without it those that
    a picture has room for.
    """

    max_gaps: int = 1000
    steps: StepRange | None = None
    whole_stacks: bool = False


DEFAULT_OPTIONS = AnalysisOptions()
