"""The table: for people as text, for programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.on_device_checks.rows import Row, Value

_HEAD = ("check", "truth", "ours", "difference", "verdict", "reason")
_WIDEST = 52


@dataclass(frozen=True, slots=True)
class CheckLog:
    """How the processes of one check went: seconds in all, how the last one ended, the end of what they printed."""

    check: str
    seconds: float
    ended: str
    log: str


@dataclass(frozen=True, slots=True)
class Table:
    """`machine`: facts by name; `rows` in the order of the checks; `captures`: file names below `captures/`."""

    machine: dict[str, Any]
    rows: tuple[Row, ...]
    logs: tuple[CheckLog, ...]
    captures: tuple[str, ...]

    def count(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)

    @property
    def summary(self) -> str:
        return f"{self.count('ok')} ok, {self.count('off')} off, {self.count('not possible')} not possible"


def as_text(table: Table) -> str:
    """The facts of the machine, the rows in columns, and how many came to which verdict."""
    facts = [f"{name}: {value}" for name, value in table.machine.items() if value not in (None, "")]
    seconds = ", ".join(f"{log.check} {log.seconds:.0f} s" for log in table.logs)
    captures = f"captures: {', '.join(table.captures) or 'none'}"
    return "\n".join([*facts, "", *lines(table.rows), "", f"time: {seconds}", captures, table.summary, ""])


def lines(rows: Sequence[Row]) -> list[str]:
    cells = [_HEAD, *(_cells(row) for row in rows)]
    widths = [min(_WIDEST, max(len(line[column]) for line in cells)) for column in range(len(_HEAD) - 1)]
    padded = [
        "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[-1]]).rstrip()
        for line in cells
    ]
    return [padded[0], "-" * min(160, max(map(len, padded))), *padded[1:]]


def _cells(row: Row) -> tuple[str, str, str, str, str, str]:
    return (
        row.check,
        _value(row.truth, row.unit),
        _value(row.ours, row.unit),
        row.difference or "–",
        row.verdict,
        row.reason,
    )


def _value(value: Value, unit: str) -> str:
    if value is None:
        return "–"
    text = f"{value:,.4g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}".rstrip()


def write(table: Table, folder: Path) -> None:
    """`table.txt` and `table.json` in `folder`. Raises: OSError."""
    (folder / "table.txt").write_text(as_text(table), encoding="utf-8")
    found = {
        "machine": table.machine,
        "rows": [row.to_dict() for row in table.rows],
        "checks": [
            {"check": log.check, "seconds": round(log.seconds, 1), "ended": log.ended, "log": log.log}
            for log in table.logs
        ],
        "captures": list(table.captures),
        "summary": table.summary,
    }
    (folder / "table.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
