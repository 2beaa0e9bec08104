"""Captures whose training thread was sampled outside the data wait, for tests of what takes the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]
TRAIN, TORCH = "/home/me/train.py", "/lib/site-packages/torch"

MAIN: Frame = ("<module>", TRAIN, 90)
MIXUP: Frame = ("augmented", TRAIN, 15)
SORT: Frame = ("mixup", TRAIN, 12)
NEXT: Frame = ("_BaseDataLoaderIter.__next__", f"{TORCH}/utils/data/dataloader.py", 7)
FORWARD: Frame = ("Module._call_impl", f"{TORCH}/nn/modules/module.py", 1747)
OPTIMIZER: Frame = ("SGD.step", f"{TORCH}/optim/sgd.py", 100)
CALLS: Frame = ("<module>", TRAIN, 91)
LOG: Frame = ("log_stats", TRAIN, 40)

WAITING, MODEL = (MAIN, MIXUP, NEXT), (MAIN, FORWARD)
MIXING, LOGGING, STEPPING = (MAIN, MIXUP, SORT), (MAIN, LOG), (MAIN, OPTIMIZER)


def caller(**changed: Any) -> dict[str, Any]:
    return {
        "function": "augmented", "file": TRAIN, "first": 1, "generator": True, "batches": 10, "steps_inside": 0,
        "steps": 10, **changed,
    }  # fmt: skip


def run(stacks: Sequence[tuple[Sequence[Frame], int]], *callers: dict[str, Any], **more: Any) -> TraceBuilder:
    """Ten steps of 10 ms, of which 0.4 ms wait for data. `stacks`: each with how many of 100 samples, in turn."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], callers=list(callers))
    for step in range(10):
        builder.step(10_000 * step, 10_000).wait(10_000 * step, 400, "wait::DataLoader")
    each = [stack for stack, count in stacks for _ in range(count)]
    times = [500 + 1000 * number + (number % 7) * 10 for number in range(100)]
    return builder.stacks(times, [each[37 * number % 100] for number in range(100)], **more)
