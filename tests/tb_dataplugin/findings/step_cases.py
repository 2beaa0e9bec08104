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


OURS: Frame = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)
LINE: Frame = ("Tokenise.__call__", "/home/me/words.py", 7)
OTHER: Frame = ("Tokenise.rest", "/home/me/words.py", 20)
INSIDE = (MAIN, NEXT, OURS)


def staged(
    stage: str,
    source: str,
    *calls: Frame,
    of_hundred: int = 60,
    wait: float = 8000,
    samples: int = 100,
    other: str = "return words",
    states: Sequence[int] = (0,),
) -> TraceBuilder:
    """A step of 10 ms that waits for one stage. `of_hundred` of its samples are in `LINE`, which calls these frames.
    `states` of the samples, again and again.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, wait, "wait::DataLoader")
    if not stage.startswith("collate"):
        builder.stage("sample::Reviews", 0, wait)
    builder.stage(stage, 0, wait)
    times = [wait / samples * (number + 0.5) for number in range(samples)]
    stacks = [
        (*INSIDE, LINE, *calls) if 37 * number % 100 < of_hundred else (*INSIDE, OTHER) for number in range(samples)
    ]
    states = [states[number % len(states)] for number in range(samples)]
    sources = {(LINE[1], LINE[2]): source, (OTHER[1], OTHER[2]): other}
    return builder.stacks(times, stacks, states=states, sources=sources)
