"""What putting our rows into a user's trace costs, beside the export of torch's own that it comes after.

    python benchmarks/merging.py [--windows 12] [--steps 20]

A loop with two DataLoader workers under the program's own `torch.profiler.profile`, its loader annotated. Measured are
the CPU time and the seconds of `export_chrome_trace` without ours, and of ours (`merge_trace`), of each window; printed
their medians and the ratio (budget: 1.5). *small*: a step is a matrix product; *model*: forward, backward and optimizer
of a small ResNet, as in a training.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader, Dataset

import annotate
from annotate.capture import standing


class Cost(NamedTuple):
    """Of one export."""

    cpu_ms: float
    ms: float


class Pictures(Dataset[torch.Tensor]):
    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.transform = annotate.compose([torch.Tensor.float, torch.Tensor.contiguous, torch.Tensor.abs])

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> torch.Tensor:
        picture: torch.Tensor = self.transform(torch.ones(3, 32, 32))
        return picture


def small_step() -> Callable[[torch.Tensor], None]:
    weights = torch.ones(32, 32)
    return lambda batch: batch.matmul(weights).sum().item() and None


def model_step() -> Callable[[torch.Tensor], None]:
    def block(channels: int) -> torch.nn.Module:
        conv = torch.nn.Conv2d(channels, channels, 3, padding=1)
        return torch.nn.Sequential(conv, torch.nn.BatchNorm2d(channels), torch.nn.ReLU())

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), *(block(16) for _ in range(16)))
    optimizer = torch.optim.AdamW(model.parameters())

    def step(batch: torch.Tensor) -> None:
        optimizer.zero_grad()
        model(batch).mean().backward()
        optimizer.step()

    return step


def window(step: Callable[[torch.Tensor], None], steps: int, path: Path) -> tuple[Cost, Cost, int]:
    """Torch's export, ours, and the bytes of what torch wrote."""
    ours: list[Cost] = []
    sizes: list[int] = []
    merge = standing.Standing.merge

    def timed(self: Any, profiler: Any, written: str) -> None:
        sizes.append(Path(written).stat().st_size)
        ours.append(cost(lambda: merge(self, profiler, written)))

    loader = annotate.loader(DataLoader(Pictures(8 * (steps + 1)), batch_size=8, num_workers=2))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        for batch in loader:
            step(batch)
            prof.step()
    standing.Standing.merge = timed  # type: ignore[method-assign]
    try:
        both = cost(lambda: prof.export_chrome_trace(str(path)))
    finally:
        standing.Standing.merge = merge  # type: ignore[method-assign]
    return Cost(both.cpu_ms - ours[0].cpu_ms, both.ms - ours[0].ms), ours[0], sizes[0]


def cost(function: Callable[[], object]) -> Cost:
    cpu, begin = time.process_time(), time.perf_counter()
    function()
    return Cost((time.process_time() - cpu) * 1e3, (time.perf_counter() - begin) * 1e3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    print("| program | torch's file | torch's export, CPU time | ours | ratio | by the clock |\n|-|-|-|-|-|-|")
    for name, step in (("small", small_step()), ("model", model_step())):
        with tempfile.TemporaryDirectory() as folder:
            found = [window(step, options.steps, Path(folder) / "x.json") for _ in range(options.windows + 1)][1:]
        torchs, ours, sizes = zip(*found, strict=True)
        cpu = median(c.cpu_ms for c in torchs), median(c.cpu_ms for c in ours)
        ratio = median(b.cpu_ms / a.cpu_ms for a, b in zip(torchs, ours, strict=True))
        clock = median(b.ms / a.ms for a, b in zip(torchs, ours, strict=True))
        size = median(sizes) / 1e6
        print(f"| {name} | {size:.1f} MB | {cpu[0]:.0f} ms | {cpu[1]:.0f} ms | {ratio:.2f} | {clock:.2f} |")


if __name__ == "__main__":
    main()
