"""Stages that one side's windows may lack by chance: a file is opened once in hundreds of samples, so that a window of
fifty batches has that, or has it not, whatever was changed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.compare.sides import Run, Unit
from tb_dataplugin.report import report_pb2 as pb

CHANCE: Final = 0.01
"""Probability that a side lacks a stage whose calls are as frequent there, below which it is new or gone."""

OFTEN: Final = 0.5
"""Share of the blocks from which calls in one block are no sign of calls in another worker's. Rarer ones may have one
cause for all DataLoader workers, as all open their files when they start: they count once for all."""

IN_FEW: Final = "in so few batches on the other side that chance may explain it"
IN_SOME_RUNS: Final = "nor in every run of the other side"


@dataclass(frozen=True, slots=True)
class _Seen:
    """Of one stage: blocks (`Stage.block_count`) with a call, all blocks of the workers that have such, the same blocks
    per worker, and whether all runs have it.
    """

    blocks: int
    of: int
    per_worker: float
    in_each_run: bool

    def why_lacked(self, exposure: float) -> str:
        """By chance, "" where it is not. `exposure`: how much longer the other side's windows are."""
        if not self.blocks:  # no call in batches of the loop: `only_beside_loop` judges these
            return ""
        if not self.in_each_run:
            return IN_SOME_RUNS
        events = self.blocks if self.blocks >= OFTEN * self.of else self.per_worker
        is_rare = self.blocks < self.of and -events * math.log1p(exposure) > math.log(CHANCE)
        return IN_FEW if is_rare else ""


def absent_by_chance(before: Sequence[Run], after: Sequence[Run], unit: Unit) -> Mapping[str, str]:
    """Stages that one side lacks, and that the other has in some runs only, or too rarely to tell; and which of that.

    A stage in every batch of every run is never one of them. Else, if its calls fell anywhere, all of so many fall into
    the other side's windows with a probability that is to be small.
    """
    sides = [_seen(runs) for runs in (before, after)]
    sizes = [_size(runs, unit) for runs in (before, after)]
    found = {}
    for has, lacks in ((0, 1), (1, 0)):
        exposure = sizes[lacks] / sizes[has] if sizes[has] else 1.0
        for name in sides[has].keys() - sides[lacks].keys():
            if why := sides[has][name].why_lacked(exposure):
                found[name] = why
    return found


def _size(runs: Sequence[Run], unit: Unit) -> float:
    """Of all windows, in units where they are known, else in time."""
    counts = [run.units(unit) for run in runs]
    return sum(count or 0.0 for count in counts) if all(counts) else sum(run.total(_window_us) or 0.0 for run in runs)


def _window_us(capture: pb.Capture) -> float:
    return capture.window_us


def _seen(runs: Sequence[Run]) -> Mapping[str, _Seen]:
    """By stage ("<kind>::<label>")."""
    found: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    in_runs: Counter[str] = Counter()
    for run in runs:
        in_runs.update({_name(stage) for capture in run.captures for stage in capture.stages})
        for capture in run.captures:
            for name, counts in _blocks(capture):
                found[name].append(counts)
    return {
        name: _Seen(
            sum(blocks for blocks, _, _ in found[name]),
            sum(of for _, of, _ in found[name]),
            math.fsum(blocks / workers for blocks, _, workers in found[name]),
            in_runs[name] == len(runs),
        )
        for name in in_runs
    }


def _blocks(capture: pb.Capture) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Of each stage that has blocks: how many, of how many of the same workers, and how many these are. A stage in
    several places of the tree has the blocks of that in which it has most.
    """
    most: Counter[int] = Counter()
    largest: dict[str, Counter[int]] = {}
    for stage in capture.stages:
        own = Counter(stage.block_worker)
        for worker, count in own.items():
            most[worker] = max(most[worker], count)
        if own.total() > largest.get(_name(stage), Counter()).total():
            largest[_name(stage)] = own
    for name, own in largest.items():
        yield name, (own.total(), sum(most[worker] for worker in own), len(own))


def _name(stage: pb.Stage) -> str:
    return f"{stage.kind}::{stage.label}"
