"""What was odd, or cannot be known: counted, said in one sentence, and carried to the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from tb_dataplugin.words import first_clause

Topic = Literal[
    "window",
    "device",
    "loader",
    "steps",
    "stages",
    "wait_by_stage",
    "throughput",
    "workers",
    "lines",
    "file",
    "capture",
]
"""Which part of the report a diagnostic is about; `file`: oddities of the file, `capture`: notes of who captured."""


CUT: Final = frozenset({"truncated", "truncated_gzip", "damaged_gzip"})
"""Codes of a file whose end is missing: what is not in it may have been there."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a stable identifier; `message` says what, why, and what to do about it."""

    topic: Topic
    code: str
    count: int
    message: str

    @property
    def title(self) -> str:
        """For where there is little room."""
        return first_clause(self.message)


DoubtCode = Literal[
    "cut_off",
    "late_workers",
    "data_loss",
    "no_kernels",
    "dropped_spans",
    "clock_violation",
    "no_whole_step",
    "evaluation",
    "short_window",
    "profiler_weight",
    "busy_machine",
    "recorder_load",
    "calm_window",
]


@dataclass(frozen=True, slots=True)
class Doubt:
    """What makes a whole report doubtful; `sentence` says what is wrong and what to do about it."""

    code: DoubtCode
    sentence: str


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A figure that cannot be known, and the reason. It takes the place of the figure, never 0 or NaN."""

    topic: Topic
    code: str
    message: str

    def as_diagnostic(self) -> Diagnostic:
        return Diagnostic(self.topic, self.code, 1, self.message)


@dataclass(slots=True)
class DiagnosticsCollector:
    """Gathers diagnostics while a trace is read; the first message of a code is kept, later ones are counted."""

    _found: dict[str, Diagnostic] = field(default_factory=dict)

    def add(self, code: str, message: str, count: int = 1) -> None:
        if count <= 0:
            return
        seen = self._found.get(code)
        before, first = (seen.count, seen.message) if seen else (0, message)
        self._found[code] = Diagnostic("file", code, before + count, first)

    def has(self, *codes: str) -> bool:
        """Whether any of these was added."""
        return any(code in self._found for code in codes)

    def result(self) -> tuple[Diagnostic, ...]:
        return tuple(self._found.values())
