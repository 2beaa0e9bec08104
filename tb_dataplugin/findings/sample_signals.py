"""The facts about the slowest samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.items import Item, item_of
from tb_dataplugin.analyses.line_waits import WaitedFor
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.samples import SlowSample, held_up, its_batch
from tb_dataplugin.analyses.workers import BatchTimes
from tb_dataplugin.model.intervals import Intervals


@dataclass(frozen=True, slots=True)
class BuiltBatch:
    """A batch that a DataLoader worker built. `wait_us`: data wait for it."""

    epoch: int
    number: int
    build_us: float
    wait_us: float


@dataclass(frozen=True, slots=True)
class SlowSampleSignal:
    """One of the slowest samples."""

    index: int
    """Dataset index, -1 for iterable datasets."""
    duration_us: float
    """From its start to its end, without full collections of Python's garbage."""
    stage: str
    """The stage with the highest self time in it."""
    stage_us: float
    """That self time."""
    files: tuple[str, ...] = ()
    """That it was read from, where they were seen."""
    loader: int = 0
    """Number of its loader."""
    before: bool = False
    """It began before the window."""
    first: bool = False
    """It is the first of an iterable dataset's iterator, which may fill buffers."""
    batch: int = -1
    """Number of its batch in the epoch, -1 where it is not known."""
    held_up_us: float | None = None
    """Data wait for its batch and the batches after it; None where batches are not known."""
    built: BuiltBatch | None = None
    """That batch; None where it is not known."""
    collected_us: float = 0.0
    """What these collections took beside that; in a DataLoader worker at least."""
    waited_us: float | None = None
    """Off the CPU; None where CPU time was not recorded."""
    ran_us: float | None = None
    """Its CPU time, without those collections; None where that was not recorded."""
    waited_at: Place | None = None
    """The line that it was mostly blocked in, by stack samples; None where none was seen."""
    waited_for: WaitedFor | None = None
    """What that line waits for, where it names that."""


@dataclass(frozen=True, slots=True)
class SampleHabit:
    """What samples of one DataLoader take in the training loop as it goes on."""

    count: int
    """How many there are."""
    median_us: float
    common_us: float
    """By far most of them take that, or are of a kind that is many times as slow and a considerable part of all."""
    are_even: bool
    """Those that take many times as long come too evenly among the others for exceptions."""
    slow: int = 0
    """How many of them there are."""
    slow_us: float = 0.0
    """What the fastest of these takes."""
    ran_us: float | None = None
    """CPU time of a common one; None where that was not recorded of all."""
    item: Item = "sample"
    """What they are."""


def read_habits(results: Results) -> Mapping[int, SampleHabit]:
    """By number of the loader."""
    return {
        number: SampleHabit(
            count=one.count,
            median_us=one.median_ns / 1e3,
            common_us=one.common_ns / 1e3,
            are_even=one.are_even,
            slow=one.slow,
            slow_us=one.slow_ns / 1e3,
            ran_us=None if one.ran_ns is None else one.ran_ns / 1e3,
            item=item_of(results.trace, number),
        )
        for number, one in results.samples.habits.items()
    }


def read_slow_samples(results: Results) -> tuple[SlowSampleSignal, ...]:
    """Those of the training loop as it goes on, slowest first."""
    return tuple(_slow_sample(results, sample) for sample in results.samples.slowest if not sample.apart)


def _slow_sample(results: Results, sample: SlowSample) -> SlowSampleSignal:
    loader, workers, held_up_us, built = results.loop.loader, results.workers, None, None
    if loader is not None and workers is not None and sample.batch >= 0:
        held_up_us = held_up(sample, workers.batches, loader.waits).total_ns / 1e3
        built = _built(sample, workers.batches, loader.waits)
    return SlowSampleSignal(
        index=sample.index,
        loader=sample.loader,
        duration_us=(sample.duration_ns - sample.collected_ns) / 1e3,
        stage=sample.stage,
        stage_us=sample.stage_ns / 1e3,
        files=sample.files,
        before=sample.start_ns < results.window.start_ns,
        first=sample.first,
        batch=sample.batch,
        held_up_us=held_up_us,
        built=built,
        collected_us=sample.collected_ns / 1e3,
        waited_us=None if sample.waited_ns is None else sample.waited_ns / 1e3,
        ran_us=None if sample.waited_ns is None else _ran_ns(sample, sample.waited_ns) / 1e3,
        waited_at=sample.waited_at,
        waited_for=sample.waited_for,
    )


def _ran_ns(sample: SlowSample, waited_ns: int) -> int:
    """At least: full collections of garbage run on a CPU."""
    return max(0, sample.duration_ns - waited_ns - sample.collected_ns)


def _built(sample: SlowSample, batches: BatchTimes, waits: Intervals) -> BuiltBatch | None:
    rows = its_batch(sample, batches)
    if not len(rows):
        return None
    waited_ns = waits.overlap(batches.wait_start_ns[rows], batches.wait_end_ns[rows])
    return BuiltBatch(sample.epoch, sample.batch, int(batches.build_ns[rows][0]) / 1e3, int(waited_ns[0]) / 1e3)
