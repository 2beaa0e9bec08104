"""Folders of repeated runs, each run in a folder of its own: all their captures are one side of a comparison."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tb_dataplugin.compare.programs import are_other_programs, are_same_program
from tb_dataplugin.compare.sides import process_of
from tb_dataplugin.report.report_pb2 import Capture

_DIGITS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Listed:
    """A capture as it is listed. `marks`: what its program is known by, encoded; empty until it is analysed."""

    run: str
    name: str
    rank: int | None
    marks: bytes


@dataclass(frozen=True, slots=True)
class RepeatedRuns:
    """Of one program. `numbers`: their captures, as they were listed. `is_numbered`: their names differ in digits
    only (`r1`, `r2`), those of versions in words (`before`, `after`).
    """

    folder: str
    numbers: tuple[int, ...]
    is_numbered: bool


@lru_cache(maxsize=2)
def repeated_runs(captures: tuple[Listed, ...]) -> tuple[RepeatedRuns, ...]:
    """Folders that hold nothing but folders of one run each, two or more, all of one program (and with the same stages,
    if they are called by words), that some capture outside is of, too: else nothing is there to compare them with.
    """
    below = defaultdict[str, defaultdict[str, list[int]]](lambda: defaultdict(list))
    for number, capture in enumerate(captures):
        for folder, child in _folders_around(capture.run):
            below[folder][child].append(number)
    found = []
    for folder, children in below.items():
        if "" in children:  # captures in the folder itself
            continue
        numbers = tuple(sorted(number for own in children.values() for number in own))
        runs = [[captures[number] for number in own] for own in children.values()]
        outside = [captures[number].marks for number in {*range(len(captures))}.difference(numbers)]
        marks = [captures[number].marks for number in numbers]
        if _are_repeated(runs) and _is_one_program(marks, outside):
            is_numbered = len({_DIGITS.sub("0", child) for child in children}) == 1
            if is_numbered or _have_same_stages(marks):
                found.append(RepeatedRuns(folder, numbers, is_numbered))
    return tuple(found)


def _folders_around(run: str) -> Iterator[tuple[str, str]]:
    """``"a/b" -> ("a/b", ""), ("a", "b")``: each folder, and the folder in it that leads to the run."""
    parts = () if run == "." else run.split("/")
    for depth in range(1, len(parts) + 1):
        yield "/".join(parts[:depth]), parts[depth] if depth < len(parts) else ""


def _are_repeated(runs: Sequence[Sequence[Listed]]) -> bool:
    """Each is one run, and they are not the ranks of a single one."""
    lowest = min(capture.rank or 0 for run in runs for capture in run)
    again = sum(any((capture.rank or 0) == lowest for capture in run) for run in runs)
    return again > 1 and all(map(_is_one_run, runs))


def _is_one_run(captures: Sequence[Listed]) -> bool:
    """One process for each rank, with one window or several."""
    processes = {(capture.rank, capture.run, process_of(capture.name)) for capture in captures}
    return len(processes) == len({capture.rank for capture in captures})


def _is_one_program(inside: Sequence[bytes], outside: Sequence[bytes]) -> bool:
    """All that is inside, and something outside."""
    return _are_alike(inside) and any(_are_alike((inside[0], marks)) for marks in outside)


def _have_same_stages(marks: Sequence[bytes]) -> bool:
    """Else what is called by words (`before`, `after`) is a change and not a run once more."""
    return len({frozenset((stage.kind, stage.label) for stage in Capture.FromString(one).stages) for one in marks}) == 1


def _are_alike(marks: Sequence[bytes]) -> bool:
    if not all(marks):
        return False
    first, *others = map(Capture.FromString, marks)
    return all(are_same_program(first, one) for one in others)


MOST_OF_A_SIDE: Final = 32
"""Captures."""


@lru_cache(maxsize=2)
def sides_of_several(captures: tuple[Listed, ...]) -> dict[str, tuple[int, ...]]:
    """The captures of each run that has several, and of each folder of numbered runs; all of one program, by place."""
    runs = defaultdict[str, list[int]](list)
    for number, capture in enumerate(captures):
        runs[capture.run].append(number)
    sides = {run: tuple(numbers) for run, numbers in runs.items() if 1 < len(numbers) <= MOST_OF_A_SIDE}
    found = {
        run: numbers for run, numbers in sides.items() if _are_alike([captures[number].marks for number in numbers])
    }
    return found | {
        one.folder: one.numbers
        for one in repeated_runs(captures)
        if one.is_numbered and len(one.numbers) <= MOST_OF_A_SIDE
    }


@lru_cache(maxsize=2)
def mixed_runs(captures: tuple[Listed, ...]) -> tuple[str, ...]:
    """Runs whose captures are not of one program, by what is known of them: these are no side together."""
    marks = defaultdict[str, dict[bytes, None]](dict)
    for capture in captures:
        if capture.marks:
            marks[capture.run][capture.marks] = None
    return tuple(run for run, own in marks.items() if _are_mixed(tuple(own)))


@lru_cache(maxsize=1024)
def _are_mixed(marks: tuple[bytes, ...]) -> bool:
    first, *others = map(Capture.FromString, marks)
    return any(are_other_programs(first, one) for one in others)


def place_of(run: str, repeated: Sequence[RepeatedRuns]) -> str:
    """The folder whose numbered runs a run is one of, else the run itself."""
    around = [found.folder for found in repeated if found.is_numbered and run.startswith(f"{found.folder}/")]
    return max(around, key=len, default=run)
