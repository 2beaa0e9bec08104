"""Is the share that a report gives to code around the loader right? A generator by its own clocks, and by the report.

python -m benchmarks.around_loader
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.utils.data import DataLoader, TensorDataset

import annotate
from tb_dataplugin import read_report

STEPS = 120
STEP_S = 0.025
PARTS = (0.1, 0.5, 0.9)
"""Of `STEP_S`, that the generator has."""


def burn(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(200))


class Around:
    """A generator around the loader, and the clock of its own time."""

    def __init__(self, work: Callable[[float], None], seconds: float) -> None:
        self.work, self.seconds, self.own = work, seconds, 0.0

    def batches(self, loader: Iterable[list[torch.Tensor]]) -> Iterator[list[torch.Tensor]]:
        for batch in loader:
            began = time.perf_counter()
            self.work(self.seconds)
            self.own += time.perf_counter() - began
            yield batch


def run(work: Callable[[float], None], part: float) -> str:
    around = Around(work, part * STEP_S)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    data = TensorDataset(torch.randn(STEPS * 8, 64), torch.randint(0, 5, (STEPS * 8,)))
    with tempfile.TemporaryDirectory() as folder:
        handler = annotate.trace_handler(folder)
        with torch.profiler.profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
            began = time.perf_counter()
            for x, y in around.batches(DataLoader(data, batch_size=8)):
                optimizer.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                optimizer.step()
                burn((1 - part) * STEP_S)
            whole = time.perf_counter() - began
        (capture,) = read_report(Path(folder))
    (found,) = capture.lines.step.around
    share = f"{found.window.share:.1%} ({found.window.low:.1%} to {found.window.high:.1%})"
    return f"| {work.__name__} | {around.own / whole:.1%} | {share} | {capture.lines.step.samples} |"


def main() -> None:
    annotate.auto()
    print("| the generator | true share | by samples, 95% interval | samples |\n|-|-|-|-|")
    for work in (burn, time.sleep):
        for part in PARTS:
            print(run(work, part))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
