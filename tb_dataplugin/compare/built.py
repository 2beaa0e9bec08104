"""What a stage's time is per: DataLoader workers build batches ahead, so a window has other samples built than the loop
takes in it. What builds samples is counted per sample built in the window; what the training thread does, per sample
that it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from tb_dataplugin.compare.sides import Run, Unit, called_by_loop
from tb_dataplugin.report import report_pb2 as pb

OF_TRAINING: Final = ("sampler::", "wrapper::", "h2d::")
"""Begin the names of stages that the training thread runs, wherever they stand in the tree."""

AT_EDGES: Final = 2 / 3
"""Variance of what a thread that builds has of a count, in samples or batches: one of unknown length is cut at each
edge of the window, and counts by its part of the mean time (uniform: 1/3 each)."""

PREFETCH: Final = 2
"""What torch takes for `prefetch_factor`."""

BATCHES: Final = ".__getitems__"
"""Ends the label of a `sample` stage whose spans are batches."""


class Per(NamedTuple):
    """So many samples or steps, with the standard error of that."""

    units: float
    error: float

    @property
    def relative(self) -> float:
        return self.error / self.units


Place = Literal["training", "sample", "batch"]
"""What a stage is run by, or in."""

Counting = Literal["all", "loop", "blocks"]
"""Which calls count as those of samples that were built: for all DataLoaders of the window; for the training loop's;
of these, as `sides.called_by_loop` has them: in the blocks, which leave out starts of epochs.
"""

PerName = Callable[[str], Per]


@dataclass(frozen=True, slots=True)
class Units:
    """Of all windows of a side: of the unit, `taken` by the training loop and `built`. `ahead`: drawn for DataLoader
    workers at most, before the loop takes them. `untold`: places of stages whose calls for the training loop are not
    told from those for another DataLoader, or cannot be set against these units.
    """

    taken: float
    built: Per
    built_in_batches: Per
    ahead: float
    of_training: frozenset[str]
    in_samples: frozenset[str]
    untold: frozenset[Place] = frozenset()

    def tells_calls(self, stage: str) -> bool:
        """Whether calls of it per unit are known."""
        if stage in self.of_training or stage.startswith(OF_TRAINING):
            return "training" not in self.untold
        return ("sample" if stage in self.in_samples else "batch") not in self.untold

    def per(self, stage: str) -> Per:
        """What the time of a stage ("<kind>::<label>") is per; "": of what builds samples."""
        if stage.startswith("sampler::"):
            return Per(self.taken, self.ahead)
        if stage in self.of_training or stage.startswith(OF_TRAINING):
            return Per(self.taken, 0.0)
        return self.built if stage in self.in_samples else self.built_in_batches


def units_of(runs: Sequence[Run], unit: Unit, counting: Counting = "all") -> Units | None:
    """None where it is unknown for a window."""
    counts = [run.units(unit) for run in runs]
    taken = sum(count for count in counts if count)
    if not counts or not all(counts):
        return None
    captures = [capture for run in runs for capture in run.captures]
    ahead = math.fsum(map(_ahead, captures))
    names = {(_name(stage), _place(stage)) for capture in captures for stage in capture.stages}
    in_samples = frozenset(name for name, place in names if place == "sample")
    of_training = frozenset(name for name, place in names if place == "training") - in_samples
    untold = frozenset(place for capture in captures for place in _untold(capture, unit, counting))
    if unit == "step":
        return Units(taken, Per(taken, ahead), Per(taken, ahead), ahead, of_training, in_samples, untold)
    each = [_samples_built(capture, counting) for capture in captures]
    built, variance = math.fsum(one.units for one in each), math.fsum(one.error**2 for one in each)
    coarse = math.fsum(_threads(capture) * AT_EDGES * _batch(capture) ** 2 for capture in captures)
    ahead *= max(map(_batch, captures))
    in_batches = Per(built, math.sqrt(max(variance, coarse)))
    return Units(taken, Per(built, math.sqrt(variance)), in_batches, ahead, of_training, in_samples, untold)


def _untold(capture: pb.Capture, unit: Unit, counting: Counting) -> Iterator[Place]:
    """Where there is another DataLoader: blocks are without starts of epochs, and steps and samples that the loop takes
    are with them; batches that DataLoader workers finished are of all DataLoaders together.
    """
    apart = capture.loader.apart
    if counting != "blocks" or not apart.others:
        return
    if apart.starts_us:
        yield "training"
    if (apart.starts_us and unit == "step") or (unit == "sample" and not _names(capture)):
        yield from ("sample", "batch")


def _name(stage: pb.Stage) -> str:
    return f"{stage.kind}::{stage.label}"


def _place(stage: pb.Stage) -> Place:
    if any(name.startswith("sample::") for name in stage.path):
        return "sample"
    return "training" if stage.path and stage.path[0].startswith("wait::") else "batch"


def _threads(capture: pb.Capture) -> int:
    """That build batches: DataLoader workers, else the training thread."""
    return max(1, len(capture.workers))


def _batch(capture: pb.Capture) -> float:
    return max(1.0, capture.throughput.samples_per_batch)


def _ahead(capture: pb.Capture) -> float:
    """Batches in queues, or in work, at most."""
    workers = capture.loader.num_workers
    return float(workers * (capture.loader.prefetch_factor or PREFETCH)) if workers else 1.0


def _samples_built(capture: pb.Capture, counting: Counting) -> Per:
    """By their spans. Of those at the window's edges a part is in it: that is as much as the stack samples have of the
    time of all. It differs from the number that start in the window by no more than one for each thread.
    """
    spans = {name: rows for name in _names(capture) if (rows := list(_outermost(capture, name)))}
    batch, threads = _batch(capture), _threads(capture)
    if not spans:
        return _by_batches(capture)
    seen, starts, part, one = _seen_us(capture), 0.0, 0.0, 1.0
    for name, rows in spans.items():
        size = batch if name.endswith(BATCHES) or capture.loader.item == "batch" else 1.0
        time = math.fsum(row.total_us for row in rows)
        count = sum(_calls(capture, row, counting) for row in rows)
        starts += size * count
        part += size * count * (seen[name] / time if seen.get(name) and time else 1.0)
        one = max(one, size)
    most = min(threads * one, starts / 2)
    return Per(min(max(part, starts - most), starts + most), one * math.sqrt(AT_EDGES * threads))


def _calls(capture: pb.Capture, row: pb.Stage, counting: Counting) -> int:
    if counting == "blocks":
        return called_by_loop(capture, row).calls
    return row.count - row.for_others * (counting == "loop")


def _by_batches(capture: pb.Capture) -> Per:
    """Of samples without spans: by the batches that DataLoader workers finished."""
    batch, batches = _batch(capture), sum(worker.batches for worker in capture.workers)
    if not batches or not capture.throughput.samples_per_batch:
        return Per(capture.throughput.samples, 0.0)
    return Per(batch * batches, batch * math.sqrt(AT_EDGES * len(capture.workers)))


def _names(capture: pb.Capture) -> list[str]:
    """Of stages that are samples; of those that fetch whole batches only where they have no samples in them."""
    names = dict.fromkeys(_name(stage) for stage in capture.stages if stage.kind == "sample")
    return [name for name in names if not name.endswith(BATCHES)] or list(names)


def _outermost(capture: pb.Capture, name: str) -> Iterator[pb.Stage]:
    """A sample may be made of another dataset's: that is one."""
    for stage in capture.stages:
        if _name(stage) == name and not any(_is_sample(above) for above in stage.path[:-1]):
            yield stage


def _is_sample(name: str) -> bool:
    return name.startswith("sample::") and not name.endswith(BATCHES)


def _seen_us(capture: pb.Capture) -> dict[str, float]:
    """Time of outermost samples within the window, by stack samples."""
    tree, seen, within = capture.lines.pipeline.tree, dict[str, float](), -1
    for row, depth in enumerate(tree.depth):
        if 0 <= within < depth:
            continue
        within, name = -1, tree.names[tree.label[row]]
        if tree.origin[row] == "stage" and name.startswith("sample::"):
            within = depth if _is_sample(name) else -1
            seen[name] = seen.get(name, 0.0) + tree.total_us[row]
    return seen
