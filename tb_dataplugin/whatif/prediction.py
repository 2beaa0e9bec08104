"""What a change brings, with a 90% interval: a simulated loop with the change, beside the same loop without.

The interval has two sources: which batches and steps the capture happened to see (they are resampled in blocks), and
how far the model itself is off (`_model_error`, measured: docs/whatif.md). The simulation of the loop as it was
captured is set against what was measured, and predictions are scaled by what they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.whatif.change import TRANSFER, Change, check
from tb_dataplugin.whatif.dealing import notes_on_parts, otherwise_dealt
from tb_dataplugin.whatif.ends import ends_of
from tb_dataplugin.whatif.hidden_threads import compete_otherwise, notes_on_threads
from tb_dataplugin.whatif.limit import DEVICE, limited_by
from tb_dataplugin.whatif.loop import Floats, Loop
from tb_dataplugin.whatif.measured_wait import measured_ends
from tb_dataplugin.whatif.more_workers import hindrances, may_lack_cpus, none_free, work_ns
from tb_dataplugin.whatif.moved_work import longer_in_workers, notes_on_moved
from tb_dataplugin.whatif.other_workers import sent_otherwise, with_other_workers
from tb_dataplugin.whatif.own_share import least_step_ns, notes_on_share
from tb_dataplugin.whatif.ranges import Range, Step, around
from tb_dataplugin.whatif.simulation import Orders, Simulated, simulate
from tb_dataplugin.whatif.unknown import assumptions, check_known, has_two_ends, with_cost

RESAMPLES: Final = 24
"""Enough for the ends of a 90% interval."""

STAGE_ERROR: Final = 0.2
"""Half of the relative 90% interval for faster or slower stages, beside the resampling (docs/whatif.md: measured)."""

SETTINGS_ERROR: Final = 0.35
"""The same for other numbers of DataLoader workers, prefetching, and order."""

TRANSFER_ERROR: Final = 0.5
"""The same for the transfer: a worker that sends a batch is slowed while it builds the next, which is not simulated."""

SLOWED: Final = 0.01
"""Part of the rest of a step by which it has to take longer to be worth a word: steps differ by more."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """`limited_by`: what would bring most if it took half as long: the self time of a stage, without what that calls,
    ``transfer``, or ``step``, its own time; where CPUs limit (`short_of_cpus`), the stage whose self time has most work
    for them; ``device`` where a step cannot be shorter
    than what the device computes for it. `at_least_us`: all that can be said of a step, where no CPU is free for
    more DataLoader workers: its work on all CPUs, did other programs give way. `device_idle`: share of the step;
    None without a device. `memory_bytes`: of the batches that are asked for ahead; `workers_bytes`: of all
    DataLoader workers, None where there are none, or theirs was not recorded.
    """

    change: Change
    step_us: Range
    samples_per_s: Range | None
    data_wait_share: Range
    device_idle: Range | None
    limited_by: str
    memory_bytes: float | None
    notes: tuple[str, ...] = ()
    workers_bytes: Range | None = None
    at_least_us: float | None = None
    short_of_cpus: bool = False
    """Whether CPUs limit: more of them would gain more than if building batches never waited for anything else."""
    slowed: float = 0.0
    """Part of itself by which the rest of the step takes longer, for CPUs that more DataLoader workers have meanwhile;
    0 where it does not, or the step as a whole would be no shorter with enough of them.
    """

    @property
    def crowded(self) -> bool:
        return self.at_least_us is not None

    @property
    def least_us(self) -> float:
        """A step takes no less."""
        return self.step_us.low if self.at_least_us is None else self.at_least_us


def predict_all(loop: Loop, changes: Sequence[Change]) -> list[Prediction]:
    """In the order of `changes`."""
    return [predict(loop, change) for change in changes]


def soonest_us(loop: Loop, change: Change) -> Range:
    """Of a step: the value of `predict`, and how far its interval reaches at least; a fraction of the work, for whoever
    asks of many changes. Raises BadRequest as that does.
    """
    return _soonest(loop, change, resamples=0)


def step_range(loop: Loop, change: Change) -> Range:
    """`predict(loop, change).step_us`, with its `least_us` as the low end. Raises BadRequest as that does."""
    return _soonest(loop, change, resamples=RESAMPLES)


def likely_us(loop: Loop, change: Change) -> float:
    """`predict(loop, change).step_us.value`, by two simulated runs. Raises BadRequest as that does."""
    runs = _Runs.of(loop, change, resamples=0, ends=False)
    device_us = _device_us(loop, runs.new, change)
    us = max(float(_modelled_us(runs, loop)[0]), _own_us(runs, loop))
    return max(us, 1e-3 if device_us is None else device_us.value)


def step_slowed(loop: Loop, change: Change) -> float:
    """`predict(loop, change).slowed`, without the rest of a prediction. Raises BadRequest as that does."""
    return _slowed(_Runs.of(loop, change, resamples=0), loop)


def _soonest(loop: Loop, change: Change, resamples: int) -> Range:
    """Its low end is where `Prediction.least_us` is."""
    runs = _Runs.of(loop, change, resamples)
    step_us = _step(runs, loop, change).us
    at_least_us = _at_least_us(runs, loop)
    step_us = step_us if at_least_us is None else replace(step_us, low=at_least_us)
    device_us = _device_us(loop, runs.new, change)
    return step_us if device_us is None else _no_shorter(step_us, device_us)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The loop with a change, simulated: first as recorded, then resampled. `unchanged`: without it, as recorded.
    `longer`: with it, where the same code takes longer in DataLoader workers, and where sending batches takes more, or
    less, than is assumed.
    """

    new: Loop
    notes: tuple[str, ...]
    drawn: list[Orders]
    after: list[Simulated]
    unchanged: Simulated
    longer: tuple[Simulated, ...]

    @classmethod
    def of(cls, loop: Loop, change: Change, resamples: int, *, ends: bool = True) -> _Runs:
        check(change, loop)
        check_known(change, loop)
        new, notes = with_other_workers(with_cost(loop, change, None), loop)
        random = np.random.default_rng(0)
        orders = [_orders(loop, new, random, resampled=number > 0) for number in range(1 + resamples)]
        after = [simulate(new, order) for order in orders]
        others = (*longer_in_workers(new, loop), *sent_otherwise(new, loop)) if ends else ()
        longer = tuple(simulate(other, orders[0]) for other in others)
        return cls(new, tuple(notes), orders, after, simulate(loop, orders[0]), longer)

    @property
    def orders(self) -> Orders:
        """As recorded."""
        return self.drawn[0]


def _step(runs: _Runs, loop: Loop, change: Change) -> Step:
    scale, error = _scale(loop, runs.unchanged), _model_error(change, loop)
    own_us = _own_us(runs, loop)
    step = Step.of_draws(_modelled_us(runs, loop), own_us * _own_drawn(runs, runs.after), error)
    if error:
        step = _with_ends(step, loop, change, runs.orders)
    others = [*(simulate(other, runs.orders) for other in otherwise_dealt(runs.new, loop)), *runs.longer]
    for run, own in zip(others, _own_drawn(runs, others), strict=True):
        step = step.reaching(float(run.step_ns.mean()) * scale / 1e3, own_us * own, error)
    less, more = measured_ends(loop)
    step = step.from_to(max(own_us * (1 - error), step.us.low * less), step.us.high * more, own_us)
    if compete_otherwise(runs.new, loop):
        step = step.from_to(own_us * (1 - error), step.us.high, own_us)
    if (least := least_step_ns(runs.new, loop, 1e3 * _measured_own_us(runs, loop))) is not None:
        least_us, least_own_us = least[0] / 1e3 * (1 - error), least[1] / 1e3
        step = step.from_to(least_us, step.us.high, least_own_us)
    if has_two_ends(change):
        step = _between_costs(step, loop, change, runs.orders, scale)
    return step


def _own_drawn(runs: _Runs, of: Sequence[Simulated]) -> Floats:
    """Of each of these runs, the rest of a step over what it is in the loop with the change as recorded."""
    own_ns = float((runs.after[0].step_ns - runs.after[0].wait_ns).mean())
    return np.array([float((run.step_ns - run.wait_ns).mean()) / own_ns if own_ns else 1.0 for run in of])


def _modelled_us(runs: _Runs, loop: Loop) -> Floats:
    """Of each run with the change, a step."""
    return np.array([float(run.step_ns.mean()) for run in runs.after]) * _scale(loop, runs.unchanged) / 1e3


def _own_us(runs: _Runs, loop: Loop) -> float:
    """A step without any data wait: as it was measured, as far as the change leaves it alone. Where the model waits for
    longer than was measured, it would be scaled down with the rest.
    """
    return _measured_own_us(runs, loop) * runs.after[0].slowed / runs.unchanged.slowed


def _measured_own_us(runs: _Runs, loop: Loop) -> float:
    """The same with as much waiting for a CPU as there was."""
    grown = float(runs.new.own_ns.mean() / max(1.0, loop.own_ns.mean()))
    return (loop.measured_step_ns - loop.measured_wait_ns) * grown / 1e3


def _slowed(runs: _Runs, loop: Loop) -> float:
    """`Prediction.slowed`, whatever the device does."""
    if not may_lack_cpus(runs.new.settings.workers, loop):
        return 0.0
    slowed = runs.after[0].slowed / runs.unchanged.slowed - 1
    if slowed < SLOWED:
        return 0.0
    enough = simulate(replace(runs.new, cpus=float("inf")), runs.orders)
    return slowed if enough.step_ns.mean() < (1 - SLOWED) * runs.after[0].step_ns.mean() else 0.0


def _at_least_us(runs: _Runs, loop: Loop) -> float | None:
    """`Prediction.at_least_us`."""
    crowded = none_free(runs.new.settings.workers, loop)
    return min(work_ns(runs.new), loop.measured_step_ns) / 1e3 if crowded else None


def predict(loop: Loop, change: Change) -> Prediction:
    """Raises BadRequest for a change that the capture cannot say anything of."""
    runs = _Runs.of(loop, change, RESAMPLES)
    new, step = runs.new, _step(runs, loop, change)
    step_us, wait_share = step.us, step.wait_share
    workers = new.settings.workers
    crowded = none_free(workers, loop)
    samples = new.samples_per_step
    limit = limited_by(new, runs.drawn, runs.after, wait_share.value, lacks_cpus=may_lack_cpus(workers, loop))
    of_loader = Prediction(
        change=change,
        step_us=step_us,
        samples_per_s=None if samples is None else _rate(step_us, samples, loop),
        data_wait_share=wait_share,
        device_idle=None,
        limited_by=limit.name,
        memory_bytes=_memory(new),
        workers_bytes=_workers_memory(new),
        notes=(
            *runs.notes,
            *hindrances(loop, new),
            *notes_on_parts(new, loop),
            *notes_on_moved(new, loop),
            *notes_on_threads(new, loop),
            *notes_on_share(new, loop),
            *filter(None, [crowded]),
            *assumptions(loop, change, step_us.value),
        ),
        at_least_us=_at_least_us(runs, loop),
        short_of_cpus=limit.of_cpus,
        slowed=0.0 if crowded else _slowed(runs, loop),
    )
    device_us = _device_us(loop, new, change)
    return of_loader if device_us is None else _with_device(of_loader, device_us, loop)


def _device_us(loop: Loop, new: Loop, change: Change) -> Range | None:
    """What the device does for a step: as in the window, or between two ends."""
    if loop.device_ns is None or new.device_ns is None:
        return None
    ends = [with_cost(loop, change, cost).device_ns or 0.0 for cost in (0.0, 1.0)]
    return Range(new.device_ns / 1e3, min(ends) / 1e3, max(ends) / 1e3)


def _between_costs(step: Step, loop: Loop, change: Change, orders: Orders, scale: float) -> Step:
    """As wide as it is not known what the step pays for the change."""
    for cost in (0.0, 1.0):
        new, _ = with_other_workers(with_cost(loop, change, cost), loop)
        step = step.reaching(*_times_us(simulate(new, orders), scale), _model_error(change, loop))
    return step


def _with_ends(step: Step, loop: Loop, change: Change, orders: Orders) -> Step:
    """As wide as the loop itself is not known."""
    for end in ends_of(loop):
        new, _ = with_other_workers(with_cost(end, change, None), end)
        step = step.reaching(*_times_us(simulate(new, orders), _scale(end, simulate(end, orders))))
    return step


def _times_us(run: Simulated, scale: float) -> tuple[float, float]:
    """A step, and the rest of it beside its data wait."""
    return float(run.step_ns.mean()) * scale / 1e3, float((run.step_ns - run.wait_ns).mean()) * scale / 1e3


def _model_error(change: Change, loop: Loop) -> float:
    """Of the least certain thing that is changed; 0 for the loop as it was captured, however it is asked for."""
    own = loop.settings
    settings: tuple[tuple[object, object], ...] = (
        (change.workers, own.workers),
        (change.prefetch, own.prefetch),
        (change.in_order, own.in_order),
        (change.batch, loop.batch_size),
        (change.even or None, False),
    )
    errors = [TRANSFER_ERROR if name == TRANSFER else STAGE_ERROR for name, factor in change.stages if factor != 1]
    errors += [STAGE_ERROR] if change.moved or change.pin or change.own else []
    errors += [SETTINGS_ERROR] if any(asked not in (None, captured) for asked, captured in settings) else []
    return max(errors, default=0.0)


def _orders(loop: Loop, new: Loop, random: np.random.Generator, resampled: bool) -> Orders:
    """Recorded batches and steps as they came; or in blocks of a round of workers, drawn at random."""
    recorded = Orders.as_recorded(loop, new)
    if not resampled:
        return recorded
    block = max(2, loop.settings.workers)
    batches, steps = (_blocks(random, len(rows), len(recorded), block) for rows in (loop.build, loop.own_ns))
    epochs = random.integers(0, len(loop.epochs), len(recorded.epochs)).tolist() if loop.epochs else ()
    return Orders(batches, steps, tuple(epochs))


def _blocks(
    random: np.random.Generator, rows: int, count: int, block: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    starts = random.integers(0, rows, -(-count // block))
    return ((starts[:, None] + np.arange(block)) % rows).ravel()[:count]


def _scale(loop: Loop, unchanged: Simulated) -> float:
    """What was measured over what the model makes of the same loop."""
    modelled = float(unchanged.step_ns.mean())
    return loop.measured_step_ns / modelled if modelled else 1.0


def _with_device(of_loader: Prediction, device_us: Range, loop: Loop) -> Prediction:
    """A step is not shorter than what the device does for it."""
    old, rate = of_loader.step_us, of_loader.samples_per_s
    step = _no_shorter(old, device_us)
    value, low, high = step.value, step.low, step.high
    device_limits = step.value > old.value
    return replace(
        of_loader,
        step_us=step,
        samples_per_s=rate and _rate(step, rate.value * (old.value + loop.others_us) / 1e6, loop),
        data_wait_share=_of_longer(of_loader.data_wait_share, old, step),
        device_idle=around(1 - device_us.value / value, 1 - device_us.low / low, 1 - device_us.high / high),
        limited_by=DEVICE if device_limits else of_loader.limited_by,
        at_least_us=None if of_loader.at_least_us is None else max(of_loader.at_least_us, device_us.value),
        slowed=0.0 if device_limits else of_loader.slowed,
    )


def _no_shorter(step: Range, device: Range) -> Range:
    ends = ((step.value, device.value), (step.low, device.low), (step.high, device.high))
    return Range(*(max(time, of_device, 1e-3) for time, of_device in ends))


def _of_longer(share: Range, old: Range, new: Range) -> Range:
    """The same times, of steps that take longer."""
    pairs = ((share.value, old.value, new.value), (share.low, old.low, new.low), (share.high, old.high, new.high))
    return around(*(each * max(was, 1e-3) / now for each, was, now in pairs))


def _rate(step_us: Range, samples: float, loop: Loop) -> Range:
    """Per second, of so many samples per step. Waits for other DataLoaders are no part of a step, but take time."""
    times = (step_us.value, step_us.high, step_us.low)
    return Range(*(samples * 1e6 / max(time + loop.others_us, 1e-3) for time in times))


def _memory(loop: Loop) -> float | None:
    """Of batches that are asked for ahead."""
    if loop.batch_bytes is None:
        return None
    return loop.batch_bytes * max(1, loop.settings.workers * loop.settings.prefetch)


def _workers_memory(loop: Loop) -> Range | None:
    """As many workers, each as large as one of the capture."""
    sampled, workers = loop.worker_bytes, loop.settings.workers
    if sampled is None or not workers:
        return None
    low, middle, high = (workers * value for value in np.percentile(sampled, (5, 50, 95)).tolist())
    return Range(middle, low, high)
