"""A built capture with sampled stacks: two DataLoader workers decode and mask, the training thread waits, then trains.

Each batch is one sample. A worker decodes it for 20 ms and masks it for `mask_ms` and up to 20 ms more; most of the
masking is `convolve2d`. Every thread is sampled once a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.trace_builder import TraceBuilder

Frame = tuple[str, str, int]

MAIN: Frame = ("<module>", "/home/me/train.py", 90)
TORCH: Frame = ("fetch", "/lib/site-packages/torch/utils/data/fetch.py", 54)
OURS: Frame = ("timed.<locals>.timed", "/annotate/hooks/stand_ins.py", 106)
LOAD: Frame = ("ImageFile.load", "/lib/site-packages/PIL/ImageFile.py", 300)
MASK: Frame = ("main.<locals>.RandomMask.dilate", "/home/me/train.py", 41)
BLEND: Frame = ("main.<locals>.RandomMask.blend", "/home/me/train.py", 47)
CONVOLVE: Frame = ("convolve2d", "/lib/site-packages/scipy/signal/_signaltools.py", 1796)
ITEM: Frame = ("train", "/home/me/train.py", 88)

OUTER = (MAIN, TORCH, OURS)
DECODE_MS = 20
STEP_MS = 30
DEVICE_MS = 22
WORKERS = 2


@dataclass(slots=True)
class Sampled:
    """What one thread was seen to do."""

    times: list[float] = field(default_factory=list)
    stacks: list[Sequence[Frame]] = field(default_factory=list)

    def during(self, start: float, end: float, stack: Sequence[Frame]) -> None:
        """Milliseconds."""
        at = start
        while at < end:
            self.times.append(1000 * at + 500)
            self.stacks.append(stack)
            at += 1


def lines_run(steps: int = 24, mask_ms: int = 60, ahead: int = 0) -> TraceBuilder:
    """Times of the trace are microseconds; those in here are milliseconds.

    Args:
        ahead: so many further DataLoader workers build what the loop takes only after the window.
    """
    loaders = [{"batch_size": 1, "num_workers": WORKERS + ahead, "dataset": "Pets"}]
    builder = TraceBuilder().annotated(loaders=loaders)
    for worker in range(WORKERS + ahead):
        builder.worker(worker)
    threads = [Sampled() for _ in range(WORKERS + ahead)]
    free, now, training = [0.0] * WORKERS, 0.0, Sampled()
    for number in range(steps):
        worker = number % WORKERS
        made = _batch(builder, threads[worker], number, worker, free[worker], mask_ms, now)
        free[worker] = made
        arrives = max(now + 1, made)
        builder.step(1000 * now, 1000 * (arrives + STEP_MS - now))
        builder.wait(1000 * now, 1000 * (arrives - now), "wait::DataLoader")
        builder.kernel(1000 * (arrives + STEP_MS - DEVICE_MS), 1000 * DEVICE_MS)
        training.during(now, arrives, (MAIN, TORCH))
        training.during(arrives, arrives + STEP_MS, (MAIN, ITEM))
        now = arrives + STEP_MS
    number = steps
    for worker in range(WORKERS, WORKERS + ahead):
        made = 0.0
        while made < now:
            made, number = _batch(builder, threads[worker], number, worker, made, mask_ms, 2 * now), number + 1
    builder.stacks(training.times, training.stacks)
    for worker, thread in enumerate(threads):
        builder.stacks(thread.times, thread.stacks, pid=100 + worker)
    return builder


def _batch(
    builder: TraceBuilder, thread: Sampled, number: int, worker: int, start: float, mask_ms: int, consumed: float
) -> float:
    """Made as soon as its worker is free; gives when it is ready."""
    mask = mask_ms + 5 * (number % 5)
    decoded, end = start + DECODE_MS, start + DECODE_MS + mask
    stages = {
        "sample::Pets": (1000 * start, 1000.0 * (DECODE_MS + mask)),
        "decode::PIL.Image": (1000 * start, 1000.0 * DECODE_MS),
        "transform::RandomMask": (1000 * decoded, 1000.0 * mask),
    }
    builder.batch(number, worker, 0, 1000 * start, 1000 * end, 1000 * max(consumed + 1, end), stages)
    thread.during(start, decoded, (*OUTER, LOAD))
    thread.during(decoded, end - mask // 8, (*OUTER, MASK, CONVOLVE))
    thread.during(end - mask // 8, end, (*OUTER, BLEND))
    return end
