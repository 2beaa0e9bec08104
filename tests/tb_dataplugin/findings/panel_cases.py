"""Loops that decode pictures of their own, for a panel, in a step that also waits for decoded ones."""

from __future__ import annotations

from tests.trace_builder import TraceBuilder

STEPS = 8
DECODE = "decode::cv2.imdecode"
MAIN = ("<module>", "/home/me/train.py", 90)
TORCH = ("DataLoader.__next__", "/lib/site-packages/torch/utils/data/dataloader.py", 7)
GETITEM = ("Pets.__getitem__", "/home/me/train.py", 8)
PANEL = ("show", "/home/me/train.py", 15)


def panel_in_step(mode: str = "train") -> TraceBuilder:
    """Steps of 10 ms without DataLoader workers: 5 of 6 ms of data wait decode one picture, 3 of the other 4 ms decode
    three more.
    """
    loaders = [{"name": "DataLoader", "num_workers": 0, "batch_size": 1}]
    builder = TraceBuilder().annotated(mode, loaders=loaders, host={"cores": 8})
    times: list[float] = []
    for number in range(STEPS):
        start = 10_000.0 * number
        builder.step(start, 10_000).wait(start, 6000, "wait::DataLoader").stage("sample::Pets", start + 100, 5800)
        builder.stage(DECODE, start + 500, 5000)
        for picture in range(3):
            builder.stage(DECODE, start + 6500 + 1000 * picture, 1000)
        times += [start + 50 + 100 * each for each in range(100)]
    stacks = [(MAIN, TORCH, GETITEM) if time % 10_000 < 6000 else (MAIN, PANEL) for time in times]
    return builder.stacks(times, stacks)


def samples_in_step() -> TraceBuilder:
    """One DataLoader worker needs 10 ms for each batch of one sample, and the step takes a sample itself in 3 ms: the
    same stages inside the same ones.
    """
    loaders = [{"name": "DataLoader", "num_workers": 1, "batch_size": 1}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}).worker(0)
    for number in range(STEPS):
        start = 10_000.0 * number
        inside = {"sample::Pets": (start, 9000.0), DECODE: (start + 500, 8000.0)}
        builder.batch(number, 0, start, start, start + 9000, start + 9500, inside)
        builder.step(start + 9500, 10_000).stage("sample::Pets", start + 10_000, 3000)
        builder.stage(DECODE, start + 10_500, 2000).wait(start + 13_500, 6000, "wait::DataLoader")
    return builder
