"""Samples per second: reached, and what reading (F), preparation (P) and the device side (G) alone could sustain.

After DS-Analyzer (VLDB 2021): a run is input-bound when G > min(F, P). There they take three runs; here one trace gives
all three, from the time that each part used. A worker reads and prepares by turns, so the loader as a whole sustains
less than either (1/L = 1/F + 1/P, where workers are alike), and the run is input-bound when G > L, which follows from
G > min(F, P). Workers take turns: where they differ, no rate is above what the slowest of them delivers (`pace`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.batch_samples import samples_of_batches
from tb_dataplugin.analyses.collectives import share_in_collectives
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.evaluation import find_evaluation
from tb_dataplugin.analyses.items import Item, item_of
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.loop import Loop
from tb_dataplugin.analyses.making import Making, batched_fetches, find_making, single_samples
from tb_dataplugin.analyses.stages import StageTree
from tb_dataplugin.analyses.steps import lacks_whole_step
from tb_dataplugin.analyses.wait_parts import UNRECORDED
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Intervals, Window
from tb_dataplugin.model.trace import LoaderInfo, Trace

SlowestPart = Literal["read", "prepare", "device", "around"]

LEAST_BATCHES: Final = 3
"""Received in the window: with fewer, what each part could sustain alone is the luck of one batch, which a worker may
have built before the window began."""

LEADS: Final = 2 / 3
"""Share of the time of one thread in which all parts take turns, from which the slowest part is called what limits."""

BUILDING: Final = frozenset(("sample", "read", "decode", "transform", "collate", "user"))
"""Kinds of stages that are reading or preparation."""

WORTH_A_RATE: Final = 0.01
"""Share of the window, below which what is around the loader is no part of the pipeline to speak of."""

AROUND: Final = frozenset(("sampler", "wrapper"))
"""Kinds that run in the training thread whatever the number of DataLoader workers."""

LEAST_OF_MAKING: Final = 0.01
"""Share of the time that making samples takes, below which reading, or preparation, has no rate: spans of it are then
next to none, and most of that work is done where no span is (a file that a sample's own code reads line by line)."""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Rates in samples per second; None: not known, or too little of it was recorded. `load` is reading and preparation
    by turns; `around` is drawing indices and code around the DataLoader, in the training thread.

    `batches`: received in the window, where they are fewer than `LEAST_BATCHES` and no part has a rate for that.
    `is_one_thread`: the parts take turns in one thread, without a device, so that all of them limit.
    `waits_for_ranks`: most of what the step itself takes is in collectives, where ranks wait for one another.
    `guessed_batches`: of which nothing says how many samples they have, so that `batch_size` stands for it.
    `samples_per_batch`: mean of those received in the window.
    `elsewhere_ns`: data wait that neither reading nor preparation caused (drawing indices, the transfer), beside
    `built_ns`, the rest of it, whose part without a record counts as theirs, and `consumer_ns`, what the step itself
    takes: `others_ns` of it is for other DataLoaders (waits, and work between these) that steps iterate inside epochs.
    """

    samples: int
    reached: float
    read: float | None
    prepare: float | None
    load: float | None
    device: float | None
    batches: int | None = None
    elsewhere_ns: int = 0
    built_ns: int = 0
    consumer_ns: int = 0
    around: float | None = None
    around_ns: int = 0
    is_one_thread: bool = False
    is_of_one: bool = False
    """Steps draw from other DataLoaders, too: all of this is of the training loop's own alone."""
    waits_for_ranks: bool = False
    guessed_batches: int = 0
    samples_per_batch: float | None = None
    others_ns: int = 0
    item: Item = "sample"
    """What is counted, where it is no samples: batches of which nothing says how many they have, or either of both."""

    @property
    def slowest_part(self) -> SlowestPart | None:
        """The slowest part; of reading and preparation the slower one, when the loader is slower than the device. Where
        more time goes to what is none of the three, that is what is around the loader, or None. None as well where the
        step is the slowest and waits for other ranks, where parts take turns in one thread and none has most of it, and
        where steps draw from other loaders as well.
        """
        if self.load is None or self.device is None or self.is_of_one:
            return None
        if self.elsewhere_ns > (self.consumer_ns if self.device <= self.load else self.built_ns):
            return "around" if 2 * self.around_ns > self.elsewhere_ns and self._around_limits() else None
        if self.device <= self.load:
            return "device" if self._limits(self.consumer_ns) and not self.waits_for_ranks else None
        if not self._limits(self.built_ns):
            return None
        slow_reading = self.prepare is None or (self.read is not None and self.read < self.prepare)
        return "read" if slow_reading else "prepare"

    def _around_limits(self) -> bool:
        """Its share of the data wait does not show that: DataLoader workers and the step go on beside it."""
        others = [rate for rate in (self.load, self.device) if rate is not None]
        return self.around is not None and self.around < min(others) and self._limits(self.around_ns)

    def _limits(self, part_ns: int) -> bool:
        """Whether a part that is the slowest is also what limits."""
        return not self.is_one_thread or part_ns >= LEADS * (self.consumer_ns + self.built_ns + self.elsewhere_ns)


def find_throughput(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    workers: Workers | None,
    use: LoaderUse,
    loop: Loop,
) -> Throughput | Unavailable:
    """What was reached is of the window; what the parts could sustain is of the `loop` as it goes on."""
    if lacks_whole_step(trace):
        return Unavailable(
            "throughput", "no_whole_step", "No whole step was recorded, so samples per second are unknown"
        )
    counted = count_samples(trace, tree, window, loader, workers, use, loop.apart)
    if not counted.samples or not window.duration_ns:
        message = "The number of samples is not in the trace, so samples per second are unknown"
        return Unavailable("throughput", "no_sample_count", message)
    rates = _find_rates(counted, trace, tree, window, loader, devices, workers, use, loop)
    each = counted.samples / counted.batches if counted.batches else None
    if counted.item == "batch":
        each = None
    return replace(rates, guessed_batches=counted.guessed, samples_per_batch=each, item=counted.item)


def _find_rates(
    counted: Counted,
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    devices: tuple[DeviceIdle, ...],
    workers: Workers | None,
    use: LoaderUse,
    loop: Loop,
) -> Throughput:
    attribution, samples = loop.attribution, counted.samples
    reached = _rate(samples, window.duration_ns) or 0.0
    if loader is None:  # another thread takes the batches
        return Throughput(samples, reached, None, None, None, None)
    if len(loader.duration_ns) < LEAST_BATCHES:
        return Throughput(samples, reached, None, None, None, None, batches=len(loader.duration_ns))
    left = loop.apart.left(tree.starts_in(window))
    per_batch = samples / counted.batches if counted.batches else None
    making = find_making(trace, tree, left, workers, loop.apart, use.loops, per_batch)
    here = int((single_samples(tree) & left).sum()) or samples
    alone = _in_training_thread(here, _spent_waiting(attribution)) if making is None else _in_workers(making)
    busy = devices[0].busy.total_ns if devices else 0
    away = Intervals.union_of((loader.waits, loop.apart.between))
    others = Intervals.union_of((loop.apart.ahead, loop.apart.recurring)).minus(use.beside).intersect(away).total_ns
    consumer = max(busy, window.duration_ns - away.total_ns + others)
    replaying = trace.info.mode == "replay"
    trains = not replaying and find_evaluation(trace) is None
    built, around = _built_ns(attribution, loop.waits.total_ns), _around_ns(attribution)
    settings = main_loader(trace, use)
    return Throughput(
        samples=samples,
        reached=reached,
        read=alone.read,
        prepare=alone.prepare,
        load=alone.load,
        device=_rate(samples, consumer) if trains else None,
        elsewhere_ns=loop.waits.total_ns - built,
        built_ns=built,
        consumer_ns=consumer,
        around=_rate(samples, around) if around >= WORTH_A_RATE * window.duration_ns else None,
        around_ns=around,
        is_one_thread=not devices and not replaying and settings is not None and settings.num_workers == 0,
        is_of_one=len(use.drawn) > 0,
        waits_for_ranks=2 * _in_collectives_ns(trace, window) > consumer,
        others_ns=others,
    )


def _in_collectives_ns(trace: Trace, window: Window) -> float:
    """0 for the only rank."""
    if (trace.info.world_size or 1) < 2:
        return 0.0
    return (share_in_collectives(trace, window) or 0.0) * window.duration_ns


def with_code_around(rates: Throughput, share: float, window: Window) -> Throughput:
    """With code around the loader that is sampled rather than recorded, a generator's or the making and dropping of its
    iterators, taken off the training step.

    Args:
        share: what it has of the window.
    """
    spent = min(rates.consumer_ns, round(share * window.duration_ns))
    around = rates.around_ns + spent
    if rates.device is None or spent < WORTH_A_RATE * window.duration_ns:
        return rates
    return replace(
        rates,
        device=_rate(rates.samples, rates.consumer_ns - spent),
        consumer_ns=rates.consumer_ns - spent,
        elsewhere_ns=rates.elsewhere_ns + spent,
        around=_rate(rates.samples, around),
        around_ns=around,
    )


def main_loader(trace: Trace, use: LoaderUse) -> LoaderInfo | None:
    """The training loop's loader; without any record what torch's own spans show."""
    pipeline = trace.info.pipeline
    if pipeline and pipeline.loaders:
        return pipeline.loaders[use.main]
    return LoaderInfo(num_workers=0) if trace.info.single_process_loader else None


def count_loaders(trace: Trace, use: LoaderUse) -> int:
    """Those that the record has, and one for all that are not annotated and that most steps draw from; one where there
    is no record.
    """
    recorded = len(trace.info.pipeline.loaders) if trace.info.pipeline else 1
    return recorded + (len(use.beside) > 0)


class Counted(NamedTuple):
    """0 samples: unknown. `guessed`: batches that were taken to have `batch_size`."""

    samples: int
    guessed: int = 0
    batches: int = 0
    """0: not known."""
    item: Item = "sample"


def count_samples(
    trace: Trace,
    tree: StageTree,
    window: Window,
    loader: LoaderWait | None,
    workers: Workers | None,
    use: LoaderUse,
    apart: Apart,
) -> Counted:
    """Samples of the training loop that the training thread got in the window.

    Without DataLoader workers the sample spans in the window; with them what the batches have that it received.
    """
    settings, item = main_loader(trace, use), item_of(trace, use.main)
    size = settings.batch_size if settings else None
    if workers is not None:
        table, pipeline = workers.batches.table, trace.info.pipeline
        received = (table.consumed_ns >= window.start_ns) & (table.consumed_ns < window.end_ns)
        if pipeline is not None and len(pipeline.loaders) > 1:
            received &= np.isin(table.loader, list(use.loops))
        if settings is None or settings.num_workers != 0:
            counted = _with_guesses(samples_of_batches(trace, tree, window, table)[received], size)
            return counted._replace(item="item") if item == "item" else counted
    others = Intervals.union_of(other.waits for other in apart.others)
    mine = tree.starts_in(window) & ~others.contains(tree.start_ns)
    mine &= ~np.isin(tree.track, list(trace.worker_tracks()))
    if samples := int((single_samples(tree) & mine).sum()):
        return Counted(samples, batches=_waits_with(loader, tree.start_ns[single_samples(tree) & mine]), item=item)
    batches = int((batched_fetches(tree) & mine).sum()) or (0 if loader is None else len(loader.duration_ns))
    if size is None and item == "batch":
        return Counted(batches, batches=batches, item="batch")
    return Counted((size or 0) * batches, batches, batches)


def _waits_with(loader: LoaderWait | None, starts: Int64Array) -> int:
    """Waits in which one of these begins."""
    if loader is None:
        return 0
    inside = starts[loader.waits.contains(starts)]
    return len(np.unique(np.searchsorted(loader.waits.start, inside, side="right")))


def _with_guesses(samples: Int64Array, size: int | None) -> Counted:
    """`samples`: of each batch. Without a batch size, those that are not known count as the others do on average."""
    unknown = samples < 0
    guessed, told = int(unknown.sum()), int(samples[~unknown].sum())
    if size is None:
        size = round(told / (len(samples) - guessed)) if guessed < len(samples) else 0
    return Counted(told + size * guessed, guessed, len(samples))


def _spent_waiting(attribution: Attribution) -> tuple[int, int] | None:
    """Waiting time that went to reading, and to all other stages that build batches."""
    if attribution.wait_by_stage_ns is None or UNRECORDED in attribution.wait_by_stage_ns:
        return None  # unrecorded DataLoader workers built the batches
    waits = attribution.wait_by_stage_ns.items()
    stages = ((stage.kind, time) for name, time in waits if (stage := parse_span_name(name)))
    spent = [(kind, time) for kind, time in stages if kind not in AROUND]
    reading = sum(time for kind, time in spent if kind == "read")
    return reading, sum(time for _, time in spent) - reading


def _built_ns(attribution: Attribution, wait_ns: int) -> int:
    """Data wait that stages which build batches caused, with what is unrecorded; all of it where no stage is known."""
    waits = attribution.wait_by_stage_ns
    if waits is None:
        return wait_ns
    return sum(time for name, time in waits.items() if name == UNRECORDED or _builds(name))


def _builds(name: str) -> bool:
    stage = parse_span_name(name)
    return stage is not None and stage.kind in BUILDING


def _around_ns(attribution: Attribution) -> int:
    """Data wait in which the training thread drew indices, or ran code around the loader."""
    waits = (attribution.wait_by_stage_ns or {}).items()
    return sum(time for name, time in waits if (stage := parse_span_name(name)) and stage.kind in AROUND)


@dataclass(frozen=True, slots=True)
class _Alone:
    """Rates; None for a part with next to no spans."""

    read: float | None = None
    prepare: float | None = None
    load: float | None = None


def _in_workers(making: Making) -> _Alone:
    reads, prepares = (
        _is_part(part, making.read_ns + making.prepare_ns) for part in (making.read_ns, making.prepare_ns)
    )
    rates = making.rates()
    return _Alone(rates.read if reads else None, rates.prepare if prepares else None, rates.load)


def _in_training_thread(samples: int, spent_ns: tuple[int, int] | None) -> _Alone:
    """By the waiting time that went to reading, and to preparation."""
    if spent_ns is None:
        return _Alone()
    whole = sum(spent_ns)
    read, prepare = (_rate(samples, part) if _is_part(part, whole) else None for part in spent_ns)
    return _Alone(read, prepare, _rate(samples, whole))


def _is_part(spent_ns: float, making_ns: float) -> bool:
    return spent_ns >= LEAST_OF_MAKING * making_ns


def _rate(samples: float, spent_ns: float) -> float | None:
    return samples / spent_ns * 1e9 if spent_ns > 0 else None
