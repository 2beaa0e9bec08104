"""What recording costs: steps per second with ours, with torch's profiler alone, and with neither, in turns."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile, schedule

import annotate
from benchmarks.on_device_checks.network import Trainer
from benchmarks.on_device_checks.pipeline import Plan, make_loader, seed_all
from benchmarks.on_device_checks.rows import Row, at_most, not_possible
from benchmarks.on_device_checks.setting import Setting

Mode = Literal["ours", "torch", "off"]
MODES: Final[tuple[Mode, ...]] = ("ours", "torch", "off")
BUDGET: Final = 1.05
"""Of the step time with torch's profiler alone; the check is off only where the whole interval is above it."""
LEAST_ROUNDS: Final = 6
"""Fewer values have no 95% interval of their median by their order."""
WARM_UP: Final = 4
START_S, LOOP_S = 35.0, 55.0
"""Of the time limit, what is left for starting and for the last round; how long rounds begin at most."""


class Interval(NamedTuple):
    """A median, and the bounds that hold the true one with 95% confidence, whatever the noise is (by order)."""

    median: float
    low: float
    high: float
    rounds: int


def run(setting: Setting, part: str) -> Iterator[Row]:
    workers = 0 if part == "no workers" else int(part.split()[0])
    trainer = Trainer(setting.device)
    trainer.warm_up(torch.randn(8, 3, 64, 64))
    trainer.gate_kernels = 0  # launching decides the time of a step, as recording does
    deadline = time.monotonic() + (1.5 if setting.quick else min(setting.seconds - START_S, LOOP_S))
    rounds = list[dict[Mode, float]]()
    while time.monotonic() < deadline or len(rounds) < 2:
        order = MODES if len(rounds) % 2 else MODES[::-1]
        rounds.append({mode: _step_s(setting, trainer, mode, workers, len(rounds)) for mode in order})
        if setting.quick and len(rounds) > LEAST_ROUNDS:
            break
    rounds = rounds[1:]  # the first one loads libraries
    seconds = statistics.median(one["off"] for one in rounds)
    name = f"cost, {part} ({1 / seconds:.0f} steps/s without)"
    if len(rounds) < LEAST_ROUNDS:
        yield not_possible(name, f"{len(rounds)} rounds in the time, {LEAST_ROUNDS} are needed")
        return
    ours = interval([one["ours"] / one["torch"] for one in rounds])
    sure = ours.low > BUDGET and not setting.quick  # so few rounds that one of them decides
    yield at_most(f"{name}: step time, ours / torch's profiler", ours.median, BUDGET, "", sure, _text(ours))
    added = interval([1e6 * (one["ours"] - one["torch"]) for one in rounds])
    yield Row(f"{name}: ours adds to a step", None, added.median, "us", _text(added), "ok", "for information")
    for mode, title in (("ours", "ours / off"), ("torch", "torch's profiler / off")):
        found = interval([one[mode] / one["off"] for one in rounds])  # type: ignore[index]
        yield Row(f"{name}: step time, {title}", None, found.median, "", _text(found), "ok", "for information")


def _text(found: Interval) -> str:
    return f"{found.low:.4g} to {found.high:.4g}, {found.rounds} rounds"


def interval(values: Sequence[float]) -> Interval:
    """Raises: statistics.StatisticsError: there are none."""
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * sqrt(count)
    low, high = max(0, int(count / 2 - reach)), min(count - 1, int(count / 2 + reach) + 1)
    return Interval(statistics.median(ordered), ordered[low], ordered[high], count)


def _step_s(setting: Setting, trainer: Trainer, mode: Mode, workers: int, number: int) -> float:
    """Median seconds of a step that is recorded, or would be."""
    steps = 12 if setting.quick else 24
    plan = Plan(WARM_UP + steps, image=(3, 32, 32))
    loader = make_loader(plan, workers, marked=mode == "ours")
    seed_all(2)
    with _profiler(mode, trainer, steps, setting.work / f"cost-{workers}-{number}") as prof:
        moments = []
        for batch in loader:
            loss = trainer.step(batch["images"].to(trainer.device, non_blocking=True))
            loss.item()
            if prof is not None:
                prof.step()
            moments.append(time.perf_counter())
    # the first recorded step opens the window, the last one closes it
    inner = moments[WARM_UP + 1 : -1]
    return statistics.median(after - before for before, after in pairwise(inner))


def _profiler(mode: Mode, trainer: Trainer, steps: int, folder: Path) -> contextlib.AbstractContextManager[Any]:
    if mode == "off":
        return contextlib.nullcontext()
    if mode == "ours":
        return annotate.profile(folder, wait=1, warmup=WARM_UP - 1, active=steps)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    chosen = activities if trainer.device == "cuda" else activities[:1]
    return profile(activities=chosen, schedule=schedule(wait=1, warmup=WARM_UP - 1, active=steps, repeat=1))
