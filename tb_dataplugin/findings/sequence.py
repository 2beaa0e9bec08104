"""The order in which the stages of a sample follow one another, and how each changes the size of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_high

from annotate.trace_format import Stage
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import SHRINKS


@dataclass(frozen=True, slots=True)
class Step:
    """`before`: the earlier stages that worked on as much data as this one gets: none before one that shrinks it.

    `ratio`: bytes out over bytes in, of a typical call; None where the size of this stage's result, or of the one
    before it, is not known. `measured`: how many samples it is of; 0 where no sample has both sizes.
    """

    calls: StageCalls
    before: tuple[StageCalls, ...]
    ratio: float | None
    measured: int = 0

    @property
    def shrinks(self) -> bool:
        return self.ratio is not None and self.ratio <= SHRINKS and self.calls.stage.kind == "transform"


def sequences(stages: Sequence[StageCalls]) -> list[tuple[Step, ...]]:
    """Per parent, the stages under it that turn one value into the next, in the order of their starts.

    A transform that holds others (`Compose`) gives its place to them: what it keeps is what they keep together.
    """
    children: dict[Path, list[StageCalls]] = {}
    for calls in stages:
        if calls.place is not None and calls.stage.kind in ("read", "decode", "transform"):
            children.setdefault(calls.path[:-1], []).append(calls)
    held = containers(stages)
    inner = held & {calls.path for rows in children.values() for calls in rows}
    return [_steps(tuple(_flat(parent, children, held))) for parent in children if parent not in inner]


def shrunk_after(stages: Sequence[StageCalls], stage: Stage) -> Step | None:
    """The step that throws away most of what this transform works on, which could therefore come after it."""
    if stage.kind != "transform" or any(path[-1] == stage for path in containers(stages)):
        return None
    steps = [step for sequence in sequences(stages) for step in sequence]
    return next((step for step in steps if step.shrinks and any(row.stage == stage for row in step.before)), None)


def containers(stages: Sequence[StageCalls]) -> frozenset[Path]:
    """The transforms that hold other transforms."""
    return frozenset(
        calls.path[:-1]
        for calls in stages
        if calls.stage.kind == "transform" and len(calls.path) > 1 and calls.path[-2].kind == "transform"
    )


def _flat(parent: Path, children: dict[Path, list[StageCalls]], held: frozenset[Path]) -> Iterator[StageCalls]:
    for calls in sorted(children.get(parent, ()), key=lambda calls: (calls.place or 0.0, calls.path)):
        if calls.path in held:
            yield from _flat(calls.path, children, held)
        else:
            yield calls


def _steps(rows: tuple[StageCalls, ...]) -> tuple[Step, ...]:
    steps: list[Step] = []
    whole = 0  # the first that worked on as much data as the next stage gets
    for place, row in enumerate(rows):
        is_fed_by_value = place > 0 and rows[place - 1].stage.kind != "read"  # a file's bytes are compressed
        ratio, measured = _ratio(rows[place - 1].sizes, row.sizes) if is_fed_by_value else (None, 0)
        steps.append(Step(row, rows[whole:place], ratio, measured))
        whole = place + 1 if steps[-1].shrinks else whole
    return tuple(steps)


def _ratio(earlier: Mapping[int, int], own: Mapping[int, int]) -> tuple[float | None, int]:
    """The median of the samples' quotients, and how many there are. One that occurred: of two it is the larger, which
    promises less. Sizes that were measured in different samples only are compared as typical ones.
    """
    quotients = [size / earlier[sample] for sample, size in own.items() if size and earlier.get(sample)]
    if quotients:
        return median_high(quotients), len(quotients)
    sizes, before = [size for size in own.values() if size], [size for size in earlier.values() if size]
    return (median_high(sizes) / median_high(before) if sizes and before else None), 0
