"""Runs one pipeline, in a process of its own: once with a capture, or without annotate, each part taken away in turn.

    python -m benchmarks.counterfactual_pipelines.running NAME --capture FOLDER
    python -m benchmarks.counterfactual_pipelines.running NAME --rounds 6 --seconds 0.8
    python -m benchmarks.counterfactual_pipelines.running NAME --seconds 0.8 --changes workers=3 prefetch=1 ...
    python -m benchmarks.counterfactual_pipelines.running NAME --settings       of its DataLoader, as JSON

Rounds alternate: unchanged, without the first part, without the second, ... The order of the parts turns by one with
each round. With --changes each one stands beside windows of the unchanged loop, as many as it takes (`pairing`), and
windows in which other programs took CPUs are measured again. Prints milliseconds per step as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from benchmarks.counterfactual_pipelines import PIPELINES, kit
from benchmarks.counterfactual_pipelines.kit import Loop, Pipeline
from benchmarks.counterfactual_pipelines.pairing import MOST, UNCHANGED, Pairs, measured_pairs
from benchmarks.neighbours import AGAIN, DISTURBED, Neighbours

WORKERS = "workers="
PREFETCH = "prefetch="
UNORDERED = "in_order=off"
HALVED = "=0.5x"
BATCH = "batch="
GROWS = "+step"
"""Behind a batch's size: the step takes longer in proportion, as it does not otherwise."""
SETTLING = 8
"""Steps before the clock starts, and two more per worker: queues are in their steady state by then."""
SETTLING_S = 0.3
"""The least that settling takes: four workers that start at once have two CPUs for it."""
LEAST = 20
"""Steps that the clock measures at least."""
TOGETHER = 2
"""Changes that share the windows of the unchanged loop beside them."""


@dataclass(frozen=True)
class Settings:
    """Of the unchanged pipeline's DataLoader."""

    workers: int
    prefetch: int | None
    batch: int | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=PIPELINES)
    parser.add_argument("--capture", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--changes", nargs="+", default=[], help="a part to take away, Blur=0.5x, workers=3, ...")
    parser.add_argument("--most", type=int, default=MOST, metavar="PAIRS", help="for each change")
    parser.add_argument("--settings", action="store_true")
    options = parser.parse_args()
    kit.seed = options.seed
    os.environ.pop("ANNOTATE", None)
    torch.set_num_threads(1)
    pipeline = PIPELINES[options.name]
    if options.settings:
        print(json.dumps(asdict(settings_of(pipeline))))
    elif options.capture:
        _capture(pipeline, options.capture)
    elif options.changes:
        print(json.dumps(_beside(pipeline, options.changes, options.seconds, options.most)))
    else:
        print(json.dumps(_rounds(pipeline, options)))


def settings_of(pipeline: Pipeline) -> Settings:
    loader = pipeline.build(frozenset()).loader
    return Settings(loader.num_workers, loader.prefetch_factor, loader.batch_size)


def _capture(pipeline: Pipeline, folder: str) -> None:
    import annotate

    loop = _loop(pipeline, UNCHANGED)
    annotate.loader(loop.loader)
    with annotate.profile(folder, wait=24, warmup=2, active=16) as profile:
        for number, _ in enumerate(profile.steps(_batches(loop))):
            loop.step()
            if number >= 24 + 2 + 16 + 3:
                break


def _rounds(pipeline: Pipeline, options: argparse.Namespace) -> dict[str, list[float]]:
    """Milliseconds per step, by the part that was taken away."""
    changes = pipeline.parts
    times: dict[str, list[float]] = {change: [] for change in (UNCHANGED, *changes)}
    for number in range(options.rounds):
        turn = number % len(changes)
        for change in (UNCHANGED, *changes[turn:], *changes[:turn]):
            times[change].append(_ms_per_step(_loop(pipeline, change), options.seconds))
    return times


def _beside(pipeline: Pipeline, changes: list[str], seconds: float, most: int) -> dict[str, Pairs | int]:
    """Pairs by change; by "disturbed", how many windows count although other programs took CPUs."""
    times: dict[str, Pairs | int] = {}
    disturbed = 0

    def window(change: str) -> float:
        nonlocal disturbed
        for _ in range(1 + AGAIN):
            neighbours = Neighbours()
            ms = _ms_per_step(_loop(pipeline, change), seconds)
            if neighbours.share <= DISTURBED:
                return ms
        disturbed += 1
        return ms

    for first in range(0, len(changes), TOGETHER):
        times |= measured_pairs(window, changes[first : first + TOGETHER], most)
    return {**times, "disturbed": disturbed}


def _loop(pipeline: Pipeline, change: str) -> Loop:
    kit.settings.clear()
    kit.halved.clear()
    if change.startswith(WORKERS):
        kit.settings["num_workers"] = int(change.removeprefix(WORKERS))
    elif change.startswith(PREFETCH):
        kit.settings["prefetch_factor"] = int(change.removeprefix(PREFETCH))
    elif change == UNORDERED:
        kit.settings["in_order"] = False
    elif change.startswith(BATCH):
        kit.settings["batch_size"] = size_of(change)
    elif change.endswith(HALVED):
        kit.halved.add(change.removesuffix(HALVED))
    loop = pipeline.build(frozenset({change}))
    longer = _step_grows(pipeline, change) if change.endswith(GROWS) else 1.0
    return replace(loop, step_ms=kit.varied(loop.step_ms, pipeline.name) * longer)


def size_of(change: str) -> int:
    """``"batch=16+step" -> 16``."""
    return int(change.removeprefix(BATCH).removesuffix(GROWS))


def _step_grows(pipeline: Pipeline, change: str) -> float:
    kit.settings.clear()
    return size_of(change) / (pipeline.build(frozenset()).loader.batch_size or 1)


def _ms_per_step(loop: Loop, seconds: float) -> float:
    workers = loop.loader.num_workers
    settling, cycle, began, first = SETTLING + 2 * workers, max(1, workers), 0.0, -1
    for number, _ in enumerate(_batches(loop)):
        loop.step()
        now = time.perf_counter()
        began = began or now
        if first < 0 and number >= settling and now - began >= SETTLING_S:
            began, first = now, number
        steps = number - first
        if first >= 0 and steps >= LEAST and steps % cycle == 0 and now - began >= seconds:
            return 1e3 * (now - began) / steps
    raise RuntimeError("the loader ended")


def _batches(loop: Loop) -> Iterable[Any]:
    return loop.loader if loop.around is None else loop.around(loop.loader)


if __name__ == "__main__":
    main()
