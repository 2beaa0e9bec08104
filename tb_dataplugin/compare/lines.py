"""Functions and lines of each stage on both sides: what part of the stage's time each has, by samples of stacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.compare.noise import Z_95, share_variance
from tb_dataplugin.compare.quantity import Bounds
from tb_dataplugin.compare.renamed import loop_elsewhere, renamed_files
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import percent
from tb_dataplugin.words import training_part

LineOutcome = Literal["more", "less", "new", "gone", "not_significant", "identical"]

Z_NAMED: Final = 3.0
"""Standard errors from which a change is named: of a hundred lines that stayed as they were, one in four comparisons
would be by chance at least."""

LEAST_SHARE: Final = 0.03
"""Of the stage's time, on one side at least, from which a line is in the table."""

LEAST_SAMPLES: Final = 100
"""Of a part in each run: of fewer the report names no line, or the hottest one alone."""

MOST_ROWS: Final = 10
"""Functions, and lines, of one stage."""

Key = tuple[str, str, str]
"""Function, file without its folders, and the line's text, or its number where that was not recorded; of a function "".
A line that moved is the same line."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """Shares are of the stage's time; `bounds`: 95% interval of their difference, in the same fractions."""

    name: str
    place_before: str
    place_after: str
    before: float
    after: float
    bounds: Bounds
    outcome: LineOutcome


@dataclass(frozen=True, slots=True)
class LinesChange:
    """One stage, or one part of the training thread's time. `text`: why there is nothing, "" where there is."""

    name: str
    samples_before: int
    samples_after: int
    functions: tuple[LineChange, ...]
    lines: tuple[LineChange, ...]
    text: str


@dataclass(frozen=True, slots=True)
class _Share:
    share: float
    variance: float
    place: str
    name: str


@dataclass(frozen=True, slots=True)
class _Side:
    """A part of the time in all runs of a side."""

    runs: tuple[tuple[pb.PartLines, ...], ...]

    @property
    def samples(self) -> int:
        return sum(part.samples for run in self.runs for part in run)

    @property
    def fewest(self) -> int:
        """Of a run, in the capture of it that has most."""
        return min(max(part.samples for part in run) for run in self.runs)

    @property
    def is_known(self) -> bool:
        return bool(self.runs) and all(any(_has_all_lines(part) for part in run) for run in self.runs)

    def shares(self, key: Callable[[pb.Line], Key]) -> dict[Key, _Share]:
        found = grouped((part for run in self.runs for part in run), key)
        return {each: self._share(each, lines, key) for each, lines in found.items()}

    def _share(self, wanted: Key, lines: Sequence[pb.Line], key: Callable[[pb.Line], Key]) -> _Share:
        each = [_share_in(run, wanted, key) for run in self.runs]
        mean = math.fsum(each) / len(each)
        named = line_name(lines) if wanted[2] else lines[0].function
        return _Share(mean, max(share_variance(mean, self.samples), _between(each)), _place(lines), named)

    def absent(self) -> _Share:
        return _Share(0.0, share_variance(0.0, self.samples), "", "")


def _place(lines: Sequence[pb.Line]) -> str:
    """Of several lines, which share one function or text, the file alone."""
    last = lines[-1]
    one = all(line.line == last.line for line in lines)
    return last.place if one else Place(last.function, last.file, 0).short


def _has_all_lines(part: pb.PartLines) -> bool:
    return bool(part.lines) and part.samples >= LEAST_SAMPLES


def compare_lines(before: Sequence[Run], after: Sequence[Run]) -> tuple[LinesChange, ...]:
    """Stages that both sides have samples of, most time first, then the training thread."""
    sides = [_parts_of(runs) for runs in (before, after)]
    names = [name for name in sides[0] if name in sides[1]]
    renamed = renamed_files(before, after)
    elsewhere = loop_elsewhere(before, after, renamed)
    return tuple(
        _compare(name, sides[0][name], sides[1][name], renamed, frozenset() if "::" in name else elsewhere)
        for name in names
    )


def _parts_of(runs: Sequence[Run]) -> dict[str, _Side]:
    """By name; those that a run lacks are left out."""
    tables = [_parts_of_run(run) for run in runs]
    names = [name for name in tables[0] if all(name in table for table in tables)] if tables else []
    return {name: _Side(tuple(tuple(table[name]) for table in tables)) for name in names}


def _parts_of_run(run: Run) -> dict[str, list[pb.PartLines]]:
    found: dict[str, list[pb.PartLines]] = {}
    for capture in run.captures:
        for part in capture.lines.stages:
            found.setdefault(part.name, []).append(part)
        for part in capture.lines.training:
            found.setdefault(training_part(part.name, bool(capture.devices)), []).append(part)
    return found


def _compare(
    name: str, before: _Side, after: _Side, renamed: Mapping[str, str], elsewhere: frozenset[str]
) -> LinesChange:
    """`elsewhere`: files whose functions and lines are not compared, for they are no versions of one another."""

    if not before.is_known or not after.is_known:
        fewest = min(before.fewest, after.fewest)
        needed = f": each run needs {LEAST_SAMPLES}, one has {fewest}" if fewest < LEAST_SAMPLES else ""
        text = f"too few stack samples, {before.samples} before and {after.samples} after{needed}"
        return LinesChange(name, before.samples, after.samples, (), (), text)

    def found(key: Callable[[pb.Line], Key]) -> tuple[LineChange, ...]:
        return tuple(_changes(before, after, lambda line: _before_name(key(line), renamed), elsewhere))

    functions, lines = found(_function), found(line_key)
    text = "" if functions or lines or not elsewhere else "the training loop is in another script"
    return LinesChange(name, before.samples, after.samples, functions, lines, text)


def _before_name(key: Key, renamed: Mapping[str, str]) -> Key:
    """With the name that its file had before."""
    function, file, text = key
    return function, renamed.get(file, file), text


def _changes(
    before: _Side, after: _Side, key: Callable[[pb.Line], Key], elsewhere: frozenset[str]
) -> Iterator[LineChange]:
    """The largest change first."""
    left, right = before.shares(key), after.shares(key)
    keys = [each for each in {**left, **right} if each[1] not in elsewhere]
    pairs = [(left.get(each, before.absent()), right.get(each, after.absent())) for each in keys]
    found = [_change(*pair) for pair in pairs if max(share.share for share in pair) >= LEAST_SHARE]
    yield from sorted(found, key=lambda one: (-abs(one.after - one.before), one.name))[:MOST_ROWS]


def _change(before: _Share, after: _Share) -> LineChange:
    difference, error = after.share - before.share, math.sqrt(before.variance + after.variance)
    return LineChange(
        name=after.name or before.name,
        place_before=before.place,
        place_after=after.place,
        before=before.share,
        after=after.share,
        bounds=Bounds(max(-1.0, difference - Z_95 * error), min(1.0, difference + Z_95 * error)),
        outcome=_outcome(before, after, abs(difference) > Z_NAMED * error),
    )


def _outcome(before: _Share, after: _Share, is_significant: bool) -> LineOutcome:
    if (before.share, before.name) == (after.share, after.name):
        return "identical"
    if not is_significant:
        return "not_significant"
    if not before.place:
        return "new"
    if not after.place:
        return "gone"
    return "more" if after.share > before.share else "less"


def _share_in(run: tuple[pb.PartLines, ...], wanted: Key, key: Callable[[pb.Line], Key]) -> float:
    """Without what is for another DataLoader, as an evaluation that one side's windows have by chance."""
    lines = [line for part in run for line in part.lines]
    whole = math.fsum(part.time_us for part in run) - math.fsum(line.for_others_us for line in lines)
    time = math.fsum(line.time_us - line.for_others_us for line in lines if key(line) == wanted)
    return time / whole if whole > 0 else 0.0


def _between(shares: list[float]) -> float:
    """Variance of the mean of several runs, by how much they differ; 0 of one."""
    if len(shares) < 2:
        return 0.0
    mean = math.fsum(shares) / len(shares)
    return math.fsum((share - mean) ** 2 for share in shares) / (len(shares) - 1) / len(shares)


def _function(line: pb.Line) -> Key:
    return line.function, PurePosixPath(line.file).name, ""


def grouped(parts: Iterable[pb.PartLines], key: Callable[[pb.Line], Key]) -> dict[Key, list[pb.Line]]:
    """Lines of all parts that are the same line, or of the same function."""
    found: dict[Key, list[pb.Line]] = {}
    for line in (line for part in parts for line in part.lines):
        found.setdefault(key(line), []).append(line)
    return found


def line_name(lines: Sequence[pb.Line]) -> str:
    """The text of one line in several captures, with what it calls in the share that it has over all of them: not in
    that of one capture, whichever was read last.
    """
    largest = max(lines, key=lambda line: (line.time_us, line.text))
    whole, text = math.fsum(line.time_us for line in lines), largest.text
    for callee in largest.callees if whole else ():
        spent = math.fsum(
            line.time_us * same.share for line in lines for same in line.callees if same.name == callee.name
        )
        text = text.replace(f"{callee.name} {percent(callee.share)}", f"{callee.name} {percent(spent / whole)}")
    return text


def line_key(line: pb.Line) -> Key:
    return line.function, PurePosixPath(line.file).name, line.source or str(line.line)


def change_text(found: LineChange) -> str:
    """``12.0% to 61.0% (+44 to +54 points)``."""
    if found.outcome == "identical":
        return f"{percent(found.after)}, identical"
    low, high = (f"{100 * end:+.0f}".replace("-", "−") for end in (found.bounds.low, found.bounds.high))
    named = {"new": ", new", "gone": ", gone", "not_significant": ""}.get(found.outcome, " *")
    return f"{percent(found.before)} to {percent(found.after)} ({low} to {high} points){named}"
