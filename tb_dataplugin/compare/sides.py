"""What is compared: the runs of a side, and what each of them has of time and stages."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from tb_dataplugin.compare.noise import LEAST_BLOCKS, Figure, Floats, mean_figure, typical_figure
from tb_dataplugin.diagnostics import Diagnostic
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.report.items import knows_samples
from tb_dataplugin.units import count, listed

Unit = Literal["sample", "step", ""]
Measure = Literal["cpu", "wall"]
RANKS: Final = "ranks_left_aside"
"""Of a note that only one is compared."""

MEASURES: Final[tuple[Measure, ...]] = ("cpu", "wall")

_WINDOW = re.compile(r"\.\d+$")
"""Ends the names that `annotate` gives: ``<host>_<pid>.<ns>``; windows of one process differ in it only."""


@dataclass(frozen=True, slots=True)
class Run:
    """The captures of one process, in order."""

    name: str
    captures: tuple[pb.Capture, ...]

    @property
    def process(self) -> str:
        """Its name without the window's."""
        return process_of(self.name)

    @property
    def mode(self) -> str:
        return self.captures[0].mode

    def units(self, unit: Unit) -> float | None:
        """How many samples or steps its windows hold; None when unknown."""
        counts = [_units(capture, unit) for capture in self.captures]
        known = [count for count in counts if count]
        return sum(known) if known and len(known) == len(counts) else None

    def total(self, part: Callable[[pb.Capture], float | None]) -> float | None:
        """Sum over its windows; None when it is not known for one."""
        values = [part(capture) for capture in self.captures]
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None


def _units(capture: pb.Capture, unit: Unit) -> float | None:
    if unit == "sample":
        return capture.throughput.samples if knows_samples(capture) else None
    return capture.steps.count if unit == "step" and capture.HasField("steps") else None


def is_cut(capture: pb.Capture) -> bool:
    return any(doubt.code == "cut_off" for doubt in capture.doubts)


def _fragment(capture: pb.Capture) -> str:
    return f"{capture.name} is left aside: its file is cut off and has no whole step. If it is still written, wait"


def process_of(name: str) -> str:
    """A capture's name without the window's."""
    return _WINDOW.sub("", name)


def group_runs(captures: Iterable[pb.Capture]) -> tuple[tuple[Run, ...], list[Diagnostic]]:
    """Runs of one side, by their names: captures of training only if there are any, of one rank only."""
    known, notes = sorted(captures, key=lambda capture: (capture.name, capture.file)), []
    fragments = [capture for capture in known if is_cut(capture) and not capture.HasField("steps")]
    if len(fragments) < len(known):
        known = [capture for capture in known if capture not in fragments]
        notes += [Diagnostic("capture", "fragments_left_aside", 1, _fragment(capture)) for capture in fragments]
    modes = {capture.mode for capture in known}
    if "replay" in modes and len(modes) > 1:
        known = [capture for capture in known if capture.mode != "replay"]
        message = "Replays among the captures are ignored: training is compared with training"
        notes.append(Diagnostic("capture", "replays_left_aside", 1, message))
    ranks = {capture.rank for capture in known}
    if len(ranks) > 1:
        known = [capture for capture in known if capture.rank == min(ranks)]
        message = f"Of several ranks only rank {min(ranks)} is compared: ranks of one run are not repeated runs"
        notes.append(Diagnostic("capture", RANKS, len(ranks) - 1, message))
    grouped: dict[tuple[str, str], list[pb.Capture]] = {}
    for capture in known:
        process = process_of(capture.name) if capture.mode != "unannotated" else capture.file
        grouped.setdefault((capture.host, process), []).append(capture)
    return tuple(Run(own[0].name, tuple(own)) for own in grouped.values()), notes


def common_unit(runs: Sequence[Run]) -> Unit:
    """What times are known per on every run."""
    units: tuple[Unit, ...] = ("sample", "step")
    return next((unit for unit in units if all(run.units(unit) for run in runs)), "")


def time_per_unit(run: Run, unit: Unit) -> float | None:
    """Microseconds of the run's windows per sample or step, without what is told apart."""
    count, window = run.units(unit), run.total(own_window_us)
    return window / count if count and window else None


def own_window_us(capture: pb.Capture) -> float:
    """Of the training loop as it goes on: one side's window may have an epoch's start, or an evaluation, by chance."""
    return capture.window_us - capture.loader.apart.wait_us - capture.loader.apart.between_us


def time_figure(run: Run, unit: Unit) -> Figure | None:
    """Its noise is that of the steps, in blocks of as many as there are DataLoader workers: the sawtooth's period."""
    mean = time_per_unit(run, unit)
    steps = mean_figure(np.concatenate([step_blocks(capture) for capture in run.captures]))
    if mean is None:
        return None
    return Figure(float(np.log(mean)), steps.variance if steps else None, steps.freedom if steps else 1)


def own_step_us(step: pb.Step) -> float:
    """Without what is no part of the loop."""
    return step.duration_us - step.apart_us - step.between_us


def step_blocks(capture: pb.Capture, of: Callable[[pb.Step], float] = own_step_us) -> Floats:
    """Means of a figure of the steps over whole periods of the sawtooth."""
    period = max(1, capture.loader.num_workers)
    values = np.array([of(step) for step in capture.steps.items], dtype=np.float64)
    means: Floats = values[: len(values) // period * period].reshape(-1, period).mean(axis=1)
    return means


def too_few_steps(before: Sequence[Run], after: Sequence[Run]) -> str:
    """Sides with a capture whose steps do not show how they vary, each with how many it takes: ``"at least 4 for each
    DataLoader worker: after has 20 for 8"``; "" where none.
    """
    few: dict[str, list[str]] = {}
    for runs, when in ((before, "before"), (after, "after")):
        counts = [(len(one.steps.items), max(1, one.loader.num_workers)) for run in runs for one in run.captures]
        steps, workers = min(counts, key=lambda each: each[0] / each[1], default=(0, 0))
        if steps < LEAST_BLOCKS * workers:
            of_each, for_them = (" for each DataLoader worker", f" for {workers}") if workers > 1 else ("", "")
            few.setdefault(f"at least {LEAST_BLOCKS}{of_each}", []).append(f"{when} has {count(steps)}{for_them}")
    return "; ".join(f"{least}: {listed(sides)}" for least, sides in few.items())


What = Literal["operators", "spans"]
RECORDED: Final[tuple[What, ...]] = ("operators", "spans")
"""By torch's profiler, and by `annotate`."""


class Recorded(NamedTuple):
    """So many, and how long recording them took (us)."""

    many: int
    us: float


class Called(NamedTuple):
    """How often, and the self time (us) of these calls."""

    calls: int
    self_us: float


NOT_CALLED: Final = Called(0, 0.0)


def called_by_loop(capture: pb.Capture, row: pb.Stage) -> Called:
    """Not for another DataLoader: where there is one in the window, blocks alone show which calls these are. They leave
    starts of epochs out as well, in all rows of the capture.
    """
    if capture.loader.apart.others:
        return Called(sum(row.block_count), math.fsum(row.block_self_us))
    return Called(row.count, row.self_us)


@dataclass(frozen=True, slots=True)
class StageFigures:
    """One stage in one run. `typical` has a figure per measure that the run has. `waited_us`: for a CPU; None where
    that was not recorded. `counts`: calls in each block of batches. `in_sample`: it runs within samples. `typical` is
    of a call over `samples`: 1, or those of its batch (`per_sample`). `recorded`: in all calls, and how long
    that took, by `RECORDED`; None where what one costs is not known. `less_us` was taken off each time in `typical` for
    it. `in_loop`: of `calls` and `self_us`, those that are not for another DataLoader.
    """

    calls: int
    self_us: float
    typical: dict[Measure, Figure]
    waited_us: float | None = None
    counts: tuple[int, ...] = ()
    in_sample: bool = False
    samples: float = 1
    recorded: tuple[Recorded | None, ...] = (None,) * len(RECORDED)
    less_us: float = 0.0
    in_loop: Called = NOT_CALLED

    def per_sample(self, samples: float) -> StageFigures:
        """Of a stage that runs once for so many."""
        shift = math.log(samples)
        typical = {measure: replace(one, value=one.value - shift) for measure, one in self.typical.items()}
        return replace(self, typical=typical, samples=samples)

    @property
    def stretched(self) -> float | None:
        """How much longer it took for waiting for a CPU, as a logarithm; None without CPU times.

        Where the wait was not recorded, all time without a CPU counts: it may as well have been that.
        """
        if len(self.typical) != len(MEASURES):
            return None
        if self.waited_us is None:
            return self.typical["wall"].value - self.typical["cpu"].value
        return -math.log(max(LEAST_LEFT, 1 - self.waited_us / self.self_us)) if self.self_us else 0.0


def stages_of(run: Run) -> dict[str, StageFigures]:
    """By name; a stage that stands in several places of the tree is one here. Waits are no stages."""
    rows: dict[str, list[pb.Stage]] = {}
    in_loop: dict[str, list[Called]] = {}
    for capture in run.captures:
        for stage in (stage for stage in capture.stages if stage.kind != "wait"):
            name = f"{stage.kind}::{stage.label}"
            rows.setdefault(name, []).append(stage)
            in_loop.setdefault(name, []).append(called_by_loop(capture, stage))
    return {name: _stage_figures(places, _together(in_loop[name])) for name, places in rows.items()}


def _together(called: Sequence[Called]) -> Called:
    return Called(sum(each.calls for each in called), sum(each.self_us for each in called))


def _stage_figures(rows: list[pb.Stage], in_loop: Called) -> StageFigures:
    calls = sum(row.count for row in rows)
    # Those of another DataLoader have no blocks, however long one of its calls took.
    largest = max(rows, key=lambda row: (bool(row.block_count), row.self_us))
    windows = [row for row in rows if list(row.path) == list(largest.path)]
    typical: dict[Measure, Figure] = {}
    worker = np.concatenate([np.array(row.block_worker, dtype=np.float64) for row in windows])
    measures: dict[Measure, list[Sequence[float]]] = {
        "cpu": [row.block_cpu_us for row in windows],
        "wall": [row.block_self_us for row in windows],
    }
    for measure, columns in measures.items():
        if all(len(column) == len(row.block_count) for column, row in zip(columns, windows, strict=True)):
            each = [np.divide(column, row.block_count) for column, row in zip(columns, windows, strict=True)]
            figure = typical_figure(np.concatenate(each), worker)
            typical |= {measure: figure} if figure else {}
    waited = [row.run_delay_us for row in rows if row.HasField("run_delay_us")]
    waited_us = sum(waited) if len(waited) == len(rows) else None
    counts = tuple(count for row in rows for count in row.block_count)
    in_sample = all(any(name.startswith("sample::") for name in row.path) for row in rows)
    return StageFigures(
        calls,
        sum(row.self_us for row in rows),
        typical,
        waited_us,
        counts,
        in_sample,
        recorded=tuple(recorded_in(rows, what) for what in RECORDED),
        in_loop=in_loop,
    )


def recorded_in(rows: Iterable[pb.Stage], what: What) -> Recorded | None:
    """Of all these; None where it is not known of one."""
    found = Recorded(0, 0.0)
    for row in rows:
        if not row.HasField(what):
            return None
        us = row.spans_us if what == "spans" else row.profiler_us - row.spans_us
        many = row.spans if what == "spans" else row.operators
        found = Recorded(found.many + many, found.us + us)
    return found


def computes(stage: StageFigures, shared: float) -> bool:
    """Whether it would run on a CPU for most of its time, if it did not wait for one (`shared`)."""
    cpu, wall = stage.typical.get("cpu"), stage.typical.get("wall")
    return cpu is not None and wall is not None and cpu.value >= wall.value - math.log(2) - shared


BUSY: Final = 0.1
"""Waiting for a CPU (`sharing`) from which a diagnostic says so, and CPU times count as those of a shared machine."""


UNKNOWN_SHARING: Final = 0.03
"""Assumed where no CPU time is known, as in loading without workers: that the machine was hardly shared."""


LEAST_LEFT: Final = 0.01
"""Part of a stage's time that it does not wait for a CPU, at least."""


def sharing(stages: dict[str, StageFigures]) -> float:
    """How much longer a run's stages took for waiting for a CPU, as a logarithm: whoever held it, other programs or the
    loop's own workers and threads.

    The median over stages, weighted by CPU time, so that stages that wait for files have no say.
    """
    known = [
        (stretched, one.calls * math.exp(one.typical["cpu"].value))
        for one in stages.values()
        if (stretched := one.stretched) is not None
    ]
    if not known:
        return UNKNOWN_SHARING
    known.sort()
    reached = np.cumsum([weight for _, weight in known])
    return max(0.0, known[int(np.searchsorted(reached, reached[-1] / 2))][0])


def waiting(stages: dict[str, StageFigures]) -> float:
    """The same of the time of all stages together, also of those that sleep or wait for files: what of a change of the
    whole may be by it. No more than `sharing`.
    """
    known = [(one.self_us, stretched) for one in stages.values() if (stretched := one.stretched) is not None]
    whole = sum(one.self_us for one in stages.values())
    if not known or not whole:
        return sharing(stages)
    waited = sum(self_us * (1 - math.exp(-max(0.0, stretched))) for self_us, stretched in known)
    return min(sharing(stages), -math.log(max(LEAST_LEFT, 1 - waited / whole)))
