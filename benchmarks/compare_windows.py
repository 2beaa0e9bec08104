"""How often `compare` raises a false alarm on short windows of equal runs.

    python benchmarks/compare_windows.py FOLDER [FOLDER ...] [--steps 6 12 24]

Each FOLDER holds captures of equal runs (`compare_power.py --keep` makes them: `.../before*`). Their windows are cut
into pieces of so many steps, and pieces are compared one against one: neighbours within a run, which show whether the
noise inside a run is judged well, and pieces of different runs, which also have what differs between runs. A false
alarm is a comparison that calls the time faster or slower, a part of it more or less, or names a stage.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.quantity import SIGNIFICANT
from tb_dataplugin.pipeline import analyse_file
from tb_dataplugin.report.report_pb2 import Capture

MOST_PAIRS = 400


def pieces(capture: Capture, steps: int) -> Iterator[Capture]:
    """Captures of `steps` steps each, as if the recording had been that short."""
    count = len(capture.steps.items)
    for first in range(0, count - steps + 1, steps):
        yield piece(capture, first, first + steps)


def piece(capture: Capture, first: int, last: int) -> Capture:
    part, count = Capture(), len(capture.steps.items)
    part.CopyFrom(capture)
    steps = capture.steps.items[first:last]
    share = len(steps) / count
    del part.steps.items[:]
    part.steps.items.extend(steps)
    part.steps.count = len(steps)
    part.window_us = sum(step.duration_us for step in steps)
    if part.throughput.HasField("samples"):
        part.throughput.samples *= share
    if part.HasField("loader"):
        part.loader.wait_us = sum(step.data_wait_us for step in steps)
        part.loader.wait_by_stage_us.clear()
    for device in part.devices:
        device.busy_us = sum(step.device_busy_us for step in steps)
        for field in device.idle_by_cause_us.DESCRIPTOR.fields:
            if device.idle_by_cause_us.HasField(field.name):
                total = sum(getattr(step.idle_by_cause_us, field.name) for step in steps)
                setattr(device.idle_by_cause_us, field.name, total)
    for stage in part.stages:
        begin, end = (round(len(stage.block_count) * place / count) for place in (first, last))
        for name in ("block_count", "block_self_us", "block_cpu_us", "block_worker"):
            column = list(getattr(stage, name))[begin:end]
            del getattr(stage, name)[:]
            getattr(stage, name).extend(column)
        stage.count, stage.self_us = sum(stage.block_count), sum(stage.block_self_us)
    return part


def without_stages(capture: Capture) -> Capture:
    """As a plain capture: its stages, which show whether the machine was shared, are not known."""
    plain = Capture()
    plain.CopyFrom(capture)
    del plain.stages[:]
    return plain


def neighbours(runs: Sequence[Sequence[Capture]]) -> list[tuple[Capture, Capture]]:
    return [pair for run in runs for pair in itertools.pairwise(run)]


def across(runs: Sequence[Sequence[Capture]], most: int) -> list[tuple[Capture, Capture]]:
    pairs = [(a, b) for left, right in itertools.combinations(runs, 2) for a in left for b in right]
    return random.Random(0).sample(pairs, min(most, len(pairs)))


def count(title: str, pairs: Sequence[tuple[Capture, Capture]]) -> None:
    results = [compare([before], [after]) for before, after in pairs]
    short = sum(result.outcome == "too_short" for result in results)
    total = sum(result.outcome in ("faster", "slower") for result in results)
    parts = sum(any(part.outcome in SIGNIFICANT for part in result.parts) for result in results)
    stages = sum(any(stage.outcome in SIGNIFICANT for stage in result.stages) for result in results)
    print(f"{title}: {len(pairs)} pairs, time {total}, parts {parts}, stages {stages}; too short {short}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--steps", nargs="+", type=int, default=[6, 12, 24])
    parser.add_argument("--plain", action="store_true", help="leave out the stages, as in a plain capture")
    arguments = parser.parse_args()
    captures = [
        [analyse_file(path).capture for path in sorted(folder.rglob("*.pt.trace.json.gz"))]
        for folder in arguments.folders
    ]
    if arguments.plain:
        captures = [[without_stages(capture) for capture in side] for side in captures]
    for steps in arguments.steps:
        cut = [[list(pieces(capture, steps)) for capture in side] for side in captures]
        count(f"{steps} steps, neighbours in a run", [pair for runs in cut for pair in neighbours(runs)][:MOST_PAIRS])
        most = MOST_PAIRS // len(cut)
        count(f"{steps} steps, across equal runs", [pair for runs in cut for pair in across(runs, most)])


if __name__ == "__main__":
    main()
