"""Lines of the training thread outside the data wait, in time per unit: what a line took less may be all that a change
of the loop itself brought, and no stage shows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tb_dataplugin.analyses.hot_lines import LEAST_SAMPLES
from tb_dataplugin.compare.lines import Z_NAMED, Key, grouped, line_key, line_name
from tb_dataplugin.compare.noise import share_variance
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.compare.renamed import loop_elsewhere, renamed_files
from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import duration

WORTH: Final = 0.1
"""Of the time per unit: a change of a line by less is not said."""

MOST: Final = 3


@dataclass(frozen=True, slots=True)
class OwnLine:
    """Times in us per unit. `is_bound`: that of the side with less is no more than this; its line is not known."""

    name: str
    before_us: float
    after_us: float
    is_bound: bool

    @property
    def change_us(self) -> float:
        return self.after_us - self.before_us

    @property
    def times_us(self) -> tuple[float, float]:
        """The smaller, the larger."""
        return min(self.before_us, self.after_us), max(self.before_us, self.after_us)

    def text(self, unit: Unit) -> str:
        bound = "at most " if self.is_bound else ""
        before = f"{bound if self.change_us > 0 else ''}{duration(self.before_us)}"
        after = f"{bound if self.change_us < 0 else ''}{duration(self.after_us)}"
        return f"training thread outside the data wait, {self.name}: {before} → {after} per {unit}"


@dataclass(frozen=True, slots=True)
class _Time:
    us: float
    variance: float


@dataclass(frozen=True, slots=True)
class _Side:
    """All captures of a side together; `units` are those of their windows. Times are without what is for other
    DataLoaders, as the loop's are.
    """

    parts: tuple[pb.PartLines, ...]
    units: float

    @property
    def whole_us(self) -> float:
        others = sum(line.for_others_us for part in self.parts for line in part.lines)
        return (sum(part.time_us for part in self.parts) - others) / self.units

    @property
    def samples(self) -> int:
        return sum(part.samples for part in self.parts)

    @property
    def named_us(self) -> float:
        return sum(_us(line) for part in self.parts for line in part.lines) / self.units

    def knows(self, key: Key) -> bool:
        """Of few samples a capture names the one line that has most for certain, if any: the others are not known."""
        return all(
            part.samples >= LEAST_SAMPLES or any(line_key(line) == key for line in part.lines) for part in self.parts
        )

    def at_most(self, key: Key) -> _Time:
        """Its time where it is known, else all that no other line has."""
        return self.time(key) if self.knows(key) else _Time(max(0.0, self.whole_us - self.named_us), 0.0)

    def time(self, key: Key) -> _Time:
        us = sum(_us(line) for part in self.parts for line in part.lines if line_key(line) == key) / self.units
        share = min(1.0, us / self.whole_us) if self.whole_us else 0.0
        return _Time(us, self.whole_us**2 * share_variance(share, self.samples))


def _us(line: pb.Line) -> float:
    return line.time_us - line.for_others_us


def own_lines(before: Sequence[Run], after: Sequence[Run], unit: Unit, time: Quantity | None) -> tuple[OwnLine, ...]:
    """Those that changed for certain and by much, the largest change first. None where the loop is in another script
    than a copy of the first one: each of its lines would be gone, and there anew.
    """
    renamed = renamed_files(before, after)
    first, second = _side(before, unit, {}), _side(after, unit, renamed)
    if first is None or second is None or time is None or loop_elsewhere(before, after, renamed):
        return ()
    least = WORTH * max(time.before_us or 0.0, time.after_us or 0.0)
    found = [line for line in _changed(first, second) if abs(line.change_us) >= least]
    return tuple(sorted(found, key=lambda line: -abs(line.change_us))[:MOST])


def _side(runs: Sequence[Run], unit: Unit, renamed: Mapping[str, str]) -> _Side | None:
    counts = [run.units(unit) for run in runs]
    parts = tuple(_with_names(capture.lines.training_thread, renamed) for run in runs for capture in run.captures)
    if not parts or not all(counts) or not all(part.samples for part in parts):
        return None
    return _Side(parts, sum(count or 0.0 for count in counts))


def _with_names(part: pb.PartLines, renamed: Mapping[str, str]) -> pb.PartLines:
    """Without its tree, and its lines in files by the names that these had before. Texts stay."""
    known = pb.PartLines(samples=part.samples, time_us=part.time_us, lines=part.lines)
    for line in known.lines:
        line.file = renamed.get(PurePosixPath(line.file).name, line.file)
    return known


def _changed(before: _Side, after: _Side) -> Iterator[OwnLine]:
    """Where the side with more knows the line; where the other does not, that has at most what is left there."""
    for key, lines in grouped((*before.parts, *after.parts), line_key).items():
        old, new = before.at_most(key), after.at_most(key)
        is_bound = not (before.knows(key) and after.knows(key))
        if abs(new.us - old.us) <= Z_NAMED * math.sqrt(old.variance + new.variance):
            continue
        if not is_bound or (before.knows(key) if new.us < old.us else after.knows(key)):
            yield OwnLine(line_name(lines), old.us, new.us, is_bound)
