"""Functions whose time is spread over several lines, as in a loop of plain Python: each of its lines may be colder than
a line elsewhere, and the function is what to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tb_dataplugin.analyses.line_rows import Z_95, LineRow

MOST_OF_IT: Final = 0.5
"""Of the time of lines that stand together: a line with that is the one to look at."""

NEAR: Final = 5
"""Lines of a function that are further apart are about different things."""

LEAST_OF_IT: Final = 0.02
"""Of the time of the lines that stand together: one with less does not say where the loop begins or ends."""

_IN_C: Final = re.compile(
    r"\bsleep\(|\.(?:item|tolist|cpu|numpy|to|cuda|write|flush|acquire|get|join)\(|\b(?:print|synchronize)\("
)
"""A call that takes its time in C code, or waits there."""

MOSTLY: Final = 0.5
"""Part of a line's time in one function that it calls, from which the line is about that call."""

Together = tuple[LineRow, ...]
"""Lines of one function, or of one file that call the same, the hottest first."""


def spread(rows: Iterable[LineRow], *, joins: Callable[[LineRow], bool] = lambda _: True) -> tuple[Together, ...]:
    """Each line alone where it has most of the time of those around it, else these as one; most time first.

    Args:
        rows: their shares are of the same whole.
        joins: False for a line that is named alone, whatever stands around it.
    """
    found: list[Together] = []
    functions: dict[tuple[str, str, bool], list[LineRow]] = {}
    for row in rows:
        if joins(row):
            functions.setdefault((row.place.function, row.place.file, row.is_user), []).append(row)
        else:
            found.append((row,))
    found += [group for lines in functions.values() for run in _runs(lines) for group in _groups(run)]
    return tuple(sorted(found, key=lambda group: -share_of(group)))


def spread_in_step(rows: Iterable[LineRow]) -> tuple[Together, ...]:
    """The same of the training thread: a line of the loop that calls something is about that, and stands alone."""
    return spread(rows, joins=is_plain)


def of_same_call(found: Iterable[Together]) -> tuple[Together, ...]:
    """Lines of a file that mostly call the same function, by the same name, as one; most time first."""
    groups: dict[tuple[object, ...], list[LineRow]] = {}
    for number, lines in enumerate(found):
        call = call_of(lines)
        groups.setdefault((lines[0].place.file, call) if call else (number,), []).extend(lines)
    ranked = (tuple(sorted(group, key=lambda row: (-row.time_ns, row.place))) for group in groups.values())
    return tuple(sorted(ranked, key=lambda group: -share_of(group)))


def call_of(lines: Together) -> str:
    """What all of them mostly call; "" where that is not one function."""
    calls = {row.calls if row.calls_share >= MOSTLY else "" for row in lines}
    return calls.pop() if len(calls) == 1 else ""


def is_plain(row: LineRow) -> bool:
    """Whether the line's time is in Python that it runs itself, as far as its text tells."""
    return not row.calls and not _IN_C.search(row.place.source)


def _runs(lines: list[LineRow]) -> list[list[LineRow]]:
    """Lines of one function that are near to each other."""
    runs: list[list[LineRow]] = []
    for row in sorted(lines, key=lambda row: row.place.line):
        if not runs or row.place.line - runs[-1][-1].place.line > NEAR:
            runs.append([])
        runs[-1].append(row)
    return runs


def _groups(run: list[LineRow]) -> list[Together]:
    ranked = sorted(run, key=lambda row: (-row.time_ns, row.place))
    whole = sum(row.time_ns for row in ranked)
    if ranked[0].time_ns >= MOST_OF_IT * whole:
        return [(row,) for row in ranked]
    kept = tuple(row for row in ranked if row.time_ns >= LEAST_OF_IT * whole)
    return [kept, *((row,) for row in ranked[len(kept) :])]


def share_of(lines: Sequence[LineRow]) -> float:
    return sum(row.share for row in lines)


def error_of(lines: Sequence[LineRow]) -> float:
    """Half of the 95% interval of `share_of`: as sure as if they were one line, of as many samples."""
    share, first = share_of(lines), lines[0]
    of_one = first.share * (1 - first.share)
    if len(lines) == 1 or of_one <= 0 or first.error <= 0:
        return first.error
    samples = of_one * (Z_95 / first.error) ** 2
    return float(Z_95 * (max(0.0, share * (1 - share)) / samples) ** 0.5)


def first_and_last(lines: Sequence[LineRow]) -> tuple[int, int]:
    numbers = [row.place.line for row in lines]
    return min(numbers), max(numbers)
