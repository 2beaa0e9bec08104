"""Options of reading and analysing, passed whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """`max_gaps`: how many idle gaps per device the report lists (largest first); all of them are counted."""

    max_gaps: int = 1000


DEFAULT_OPTIONS = AnalysisOptions()
