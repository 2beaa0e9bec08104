"""What a change brings, with a 90% interval: a simulated loop with the change, beside the same loop without.

The interval has two sources: which batches and steps the capture happened to see (they are resampled in blocks), and
how far the model itself is off (`_model_error`, measured: docs/whatif.md). The simulation of the loop as it was
captured is set against what was measured, and predictions are scaled by what they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tb_dataplugin.whatif.change import TRANSFER, Change, changed, check, scaled
from tb_dataplugin.whatif.loop import Floats, Loop, Timed
from tb_dataplugin.whatif.other_workers import with_other_workers
from tb_dataplugin.whatif.simulation import Orders, Simulated, simulate
from tb_dataplugin.whatif.unknown import HALFWAY, assumptions, check_known, has_two_ends, with_cost

LITTLE: Final = 0.1
"""Part of the CPUs: added workers that need less take nothing worth a word from what runs there."""

RESAMPLES: Final = 24
"""Enough for the ends of a 90% interval."""

STAGE_ERROR: Final = 0.2
"""Half of the relative 90% interval for faster or slower stages, beside the resampling (docs/whatif.md: measured)."""

SETTINGS_ERROR: Final = 0.35
"""The same for other numbers of DataLoader workers, prefetching, and order."""

TRANSFER_ERROR: Final = 0.5
"""The same for the transfer: a worker that sends a batch is slowed while it builds the next, which is not simulated."""

MANY_THREADS: Final = 1.1
"""Threads that compute a step, on average, from which they may wait for each other."""

FREE: Final = 0.02
"""Share of data wait below which the loader limits nothing."""


@dataclass(frozen=True, slots=True)
class Range:
    """A value, and the ends of its 90% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """`limited_by`: what would bring most if it took half as long: a stage, ``transfer``, or ``step``, its own time;
    ``device`` where a step cannot be shorter than what the device computes for it. `device_idle`: share of the step;
    None without a device. `memory_bytes`: of the batches that are asked for ahead; `workers_bytes`: of all DataLoader
    workers, None where there are none, or theirs was not recorded.
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
    crowded: bool = False
    """Whether the gain would be taken from other programs."""
    short_of_cpus: bool = False
    """Whether what more DataLoader workers get is taken from the rest of the step."""

    @property
    def least_us(self) -> float:
        """A step takes no less: what other programs would have to give way for is not counted on."""
        return self.step_us.value if self.crowded else self.step_us.low


def predict_all(loop: Loop, changes: Sequence[Change]) -> list[Prediction]:
    """In the order of `changes`."""
    return [predict(loop, change) for change in changes]


def soonest_us(loop: Loop, change: Change) -> Range:
    """Of a step: the value of `predict`, and how far its interval reaches at least; a fraction of the work, for whoever
    asks of many changes. Raises BadRequest as that does.
    """
    return _soonest(loop, change, resamples=0)


def least_us(loop: Loop, change: Change) -> float:
    """`predict(loop, change).least_us`, without the rest of a prediction. Raises BadRequest as that does."""
    return _soonest(loop, change, resamples=RESAMPLES).low


def _soonest(loop: Loop, change: Change, resamples: int) -> Range:
    """Its low end is where `Prediction.least_us` is."""
    runs = _Runs.of(loop, change, resamples)
    step_us = _step_us(runs, loop, change)
    step_us = replace(step_us, low=step_us.value) if _crowded(runs.new, loop) else step_us
    device_us = _device_us(loop, runs.new, change)
    return step_us if device_us is None else _no_shorter(step_us, device_us)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The loop with a change, simulated: first as recorded, then resampled. `unchanged`: without it, as recorded."""

    new: Loop
    notes: tuple[str, ...]
    orders: Orders
    after: list[Simulated]
    unchanged: Simulated

    @classmethod
    def of(cls, loop: Loop, change: Change, resamples: int) -> _Runs:
        check(change, loop)
        check_known(change, loop)
        new, notes = with_other_workers(with_cost(loop, change, None), loop)
        random = np.random.default_rng(0)
        orders = [_orders(loop, new, random, resampled=number > 0) for number in range(1 + resamples)]
        after = [simulate(new, order) for order in orders]
        return cls(new, tuple(notes), orders[0], after, simulate(loop, orders[0]))


def _step_us(runs: _Runs, loop: Loop, change: Change) -> Range:
    scale, error = _scale(loop, runs.unchanged), _model_error(change, loop)
    step_us = _range(np.array([float(run.step_ns.mean()) for run in runs.after]) * scale / 1e3, error)
    if error:
        step_us = _with_ends(step_us, loop, change, runs.orders)
    if has_two_ends(change):
        step_us = _between_costs(step_us, loop, change, runs.orders, scale)
    return step_us


def predict(loop: Loop, change: Change) -> Prediction:
    """Raises BadRequest for a change that the capture cannot say anything of."""
    runs = _Runs.of(loop, change, RESAMPLES)
    new, step_us = runs.new, _step_us(runs, loop, change)
    crowded, short_of_cpus = _crowded(new, loop), _not_enough_cpus(new, loop)
    samples = new.samples_per_step
    of_loader = Prediction(
        change=change,
        step_us=step_us,
        samples_per_s=None if samples is None else _inverse(step_us, samples * 1e6),
        data_wait_share=_wait_share(runs, loop),
        device_idle=None,
        limited_by=_limited_by(new, runs.orders, runs.after[0]),
        memory_bytes=_memory(new),
        workers_bytes=_workers_memory(new),
        notes=(
            *runs.notes,
            *_held_up(new, loop),
            *_made_again(new, loop),
            *(crowded or short_of_cpus),
            *assumptions(loop, change),
        ),
        crowded=bool(crowded),
        short_of_cpus=bool(short_of_cpus),
    )
    device_us = _device_us(loop, new, change)
    return of_loader if device_us is None else _with_device(of_loader, device_us)


def _wait_share(runs: _Runs, loop: Loop) -> Range:
    """Moved by what the simulation of the loop as it was misses of what was measured."""
    before = runs.unchanged
    missed = loop.measured_wait_ns / loop.measured_step_ns - float(before.wait_ns.sum() / before.step_ns.sum())
    share = np.array([float(run.wait_ns.sum() / run.step_ns.sum()) for run in runs.after])
    return _range(np.clip(share + missed, 0.0, 1.0), 0.0)


def _device_us(loop: Loop, new: Loop, change: Change) -> Range | None:
    """What the device does for a step: as in the window, or between two ends."""
    if loop.device_ns is None or new.device_ns is None:
        return None
    ends = [with_cost(loop, change, cost).device_ns or 0.0 for cost in (0.0, 1.0)]
    return Range(new.device_ns / 1e3, min(ends) / 1e3, max(ends) / 1e3)


def _between_costs(step_us: Range, loop: Loop, change: Change, orders: Orders, scale: float) -> Range:
    """As wide as it is not known what the step pays for the change."""
    for cost in (0.0, 1.0):
        new, _ = with_other_workers(with_cost(loop, change, cost), loop)
        step = float(simulate(new, orders).step_ns.mean()) * scale / 1e3
        error = _model_error(change, loop)
        step_us = Range(step_us.value, min(step_us.low, step * (1 - error)), max(step_us.high, step * (1 + error)))
    return step_us


def threads_wait(loop: Loop) -> bool:
    """Whether several threads compute a step, and lack CPUs: how they slow each other down is not in the capture."""
    return loop.own_threads >= MANY_THREADS and loop.own_delayed > 0


def _with_ends(step_us: Range, loop: Loop, change: Change, orders: Orders) -> Range:
    """As wide as the loop itself is not known."""
    for end in _ends(loop):
        new, _ = with_other_workers(with_cost(end, change, None), end)
        step = float(simulate(new, orders).step_ns.mean()) * _scale(end, simulate(end, orders)) / 1e3
        step_us = Range(step_us.value, min(step_us.low, step), max(step_us.high, step))
    return step_us


def _ends(loop: Loop) -> Iterator[Loop]:
    """Loops that the capture may as well be of: by how far the threads of a step wait for each other (`Loop.power`),
    and by how much of receiving is waiting for the worker that builds the next batch (`Loop.maybe_held_ns`).
    """
    for power in (1.0, loop.own_threads) if threads_wait(loop) else ():
        own_ns = loop.own_ns * (1 - loop.own_delayed) ** (power - loop.power)
        yield replace(loop, own_ns=own_ns, own_power=power)
    for share in (0.0, 1.0) if loop.maybe_held_ns.any() else ():
        more = (share - HALFWAY) * loop.maybe_held_ns
        ns = loop.receive.ns.copy()
        ns[:, -1] = np.maximum(0, ns[:, -1] - more)
        yield replace(loop, held_ns=loop.held_ns + more, receive=Timed(loop.receive.parts, ns))


def _model_error(change: Change, loop: Loop) -> float:
    """Of the least certain thing that is changed; 0 for the loop as it was captured, however it is asked for."""
    own = loop.settings
    settings: tuple[tuple[object, object], ...] = (
        (change.workers, own.workers),
        (change.prefetch, own.prefetch),
        (change.in_order, own.in_order),
        (change.batch, loop.batch_size),
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
    return Orders(*(_blocks(random, len(rows), len(recorded), block) for rows in (loop.build, loop.own_ns)))


def _blocks(
    random: np.random.Generator, rows: int, count: int, block: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    starts = random.integers(0, rows, -(-count // block))
    return ((starts[:, None] + np.arange(block)) % rows).ravel()[:count]


def _crowded(new: Loop, loop: Loop) -> tuple[str, ...]:
    """That more DataLoader workers only gain what other programs lose, where no CPU was free."""
    if (new.settings.workers - loop.settings.workers) * loop.build_cpus < LITTLE * loop.cpus:
        return ()  # they mostly wait for something else than a CPU
    others = loop.other_cpus + loop.light_cpus
    demand = others + loop.settings.workers * loop.build_cpus + loop.own_cpus
    if others < LITTLE * loop.cpus or demand < loop.cpus:
        return ()  # where the loop has all CPUs to itself, what it predicts counts
    return (
        f"*: no CPU is free: what runs already would keep {demand:.2g} CPUs busy ({others:.2g} of them for other "
        f"threads and programs), and there are {loop.cpus:g}. More DataLoader workers would mostly take CPU time "
        "from what already runs.",
    )


def _held_up(new: Loop, loop: Loop) -> tuple[str, ...]:
    """Why more DataLoader workers bring little."""
    if new.settings.workers <= loop.settings.workers:
        return ()
    if loop.lock is None:
        return (_may_be_held_up(loop.possible_lock),) if loop.possible_lock else ()
    return (
        f"DataLoader workers wait for one another at {loop.lock.row.place.short}, where they share a lock: more of "
        "them would wait longer.",
    )


def _made_again(new: Loop, loop: Loop) -> tuple[str, ...]:
    """Why more DataLoader workers bring less, or nothing."""
    if loop.kept is None or new.settings.workers <= max(1, loop.settings.workers):
        return ()
    return (
        f"{loop.kept.stage.name} is called for few batches ({loop.kept.calls} times in {loop.kept.batches}): each of "
        "more DataLoader workers is taken to call it again, since consecutive batches go to different ones.",
    )


def _may_be_held_up(place: str) -> str:
    return (
        f"DataLoader workers are blocked in a call to a database at {place}: if they wait for one another there, more "
        "of them would wait longer, which is not predicted."
    )


def _not_enough_cpus(new: Loop, loop: Loop) -> tuple[str, ...]:
    """Why the step may get longer, though there is less data wait."""
    more = (new.settings.workers - loop.settings.workers) * loop.build_cpus
    demand = loop.other_cpus + loop.light_cpus + new.settings.workers * loop.build_cpus + loop.own_cpus
    if more < LITTLE * loop.cpus or demand < loop.cpus:
        return ()
    return (
        f"{loop.cpus:g} CPUs are not enough for more DataLoader workers and the training step: what the workers get, "
        "the rest of the step lacks, and takes longer.",
    )


def _scale(loop: Loop, unchanged: Simulated) -> float:
    """What was measured over what the model makes of the same loop."""
    modelled = float(unchanged.step_ns.mean())
    return loop.measured_step_ns / modelled if modelled else 1.0


def _range(values: Floats, error: float) -> Range:
    """The first is the value, the others are resamples."""
    value = float(values[0])
    low, high = np.percentile(values[1:], (5, 95)).tolist() if len(values) > 1 else (value, value)
    return Range(value, min(low, value) * (1 - error), max(high, value) * (1 + error))


def _with_device(of_loader: Prediction, device_us: Range) -> Prediction:
    """A step is not shorter than what the device does for it."""
    old, rate = of_loader.step_us, of_loader.samples_per_s
    step = _no_shorter(old, device_us)
    value, low, high = step.value, step.low, step.high
    longer = step.value / max(old.value, 1e-3)
    return replace(
        of_loader,
        step_us=step,
        samples_per_s=rate and _inverse(step, rate.value * old.value),
        data_wait_share=_each(of_loader.data_wait_share, lambda share: share / longer),
        device_idle=_around(1 - device_us.value / value, 1 - device_us.low / low, 1 - device_us.high / high),
        limited_by="device" if step.value > old.value else of_loader.limited_by,
    )


def _no_shorter(step: Range, device: Range) -> Range:
    ends = ((step.value, device.value), (step.low, device.low), (step.high, device.high))
    return Range(*(max(time, of_device, 1e-3) for time, of_device in ends))


def _around(value: float, *ends: float) -> Range:
    return Range(value, min(value, *ends), max(value, *ends))


def _each(value: Range, made: Callable[[float], float]) -> Range:
    return Range(made(value.value), made(value.low), made(value.high))


def _inverse(step_us: Range, amount: float) -> Range:
    return Range(*(amount / max(time, 1e-3) for time in (step_us.value, step_us.high, step_us.low)))


def _limited_by(loop: Loop, orders: Orders, run: Simulated) -> str:
    if run.wait_ns.sum() <= FREE * run.step_ns.sum():
        return "step"
    parts = dict.fromkeys(part[-1].name for part in (*loop.build.parts, *loop.receive.parts) if part)
    steps = {name: float(simulate(_halved(loop, name), orders).step_ns.mean()) for name in parts}
    if loop.settings.workers:
        steps[TRANSFER] = float(simulate(changed(loop, Change(stages=((TRANSFER, 0.5),))), orders).step_ns.mean())
    best = min(steps, key=steps.__getitem__, default="step")
    return best if best in steps and steps[best] < 0.999 * run.step_ns.mean() else "step"


def _halved(loop: Loop, name: str) -> Loop:
    """The stage's own time, without the stages inside."""
    build, receive = (
        scaled(timed, 0.5, lambda part: bool(part) and part[-1].name == name) for timed in (loop.build, loop.receive)
    )
    return replace(loop, build=build, receive=receive)


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
