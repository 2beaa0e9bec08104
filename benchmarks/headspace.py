"""The headspace that `annotate.profile(headspace=N)` measures, against a separate run on cached batches.

    python benchmarks/headspace.py [--pipelines sleep,cpu] [--pairs 5]

Per pipeline and pair, in turns: one run that measures the headspace, and one plain loop, without us, over batches that
were loaded before. Prints, in Markdown, the mean step of both over the pairs with its 95% interval (Student), whether
the intervals overlap, the spread of equal plain runs, and the steps with the loader right before the headspace over
those of the window: median, lowest and highest run.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import annotate

STEPS: Final = 30
T_95: Final = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Quantiles of Student's t by degrees of freedom."""


@dataclass(frozen=True)
class Pipeline:
    """Samples take `sleep_ms`, and `cpu` passes over an array; steps take `step_ms` asleep, or train a small model."""

    sleep_ms: float = 0.0
    cpu: int = 0
    workers: int = 2
    step_ms: float = 0.0
    shape: tuple[int, ...] = (3, 32, 32)


PIPELINES: Final = {
    "sleep": Pipeline(sleep_ms=2, step_ms=4),
    "sleep-0-workers": Pipeline(sleep_ms=1, workers=0, step_ms=4),
    "sleep-model": Pipeline(sleep_ms=2),
    "cpu": Pipeline(cpu=20, step_ms=4),
    "cpu-model": Pipeline(cpu=20),
    "cpu-0-workers": Pipeline(cpu=10, workers=0),
    "large": Pipeline(sleep_ms=1, step_ms=6, shape=(3, 128, 128)),
    "large-model": Pipeline(cpu=4, shape=(3, 96, 96)),
    "fast-loader": Pipeline(step_ms=8),
    "fast-loader-model": Pipeline(workers=1),
}


class Samples(Dataset[torch.Tensor]):
    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def __len__(self) -> int:
        return 4 * 260

    def __getitem__(self, index: int) -> torch.Tensor:
        values = np.full(self.pipeline.shape, index % 7, dtype=np.float32)
        for _ in range(self.pipeline.cpu):
            values = np.sqrt(values * values + 1)
        time.sleep(self.pipeline.sleep_ms / 1e3)
        return torch.from_numpy(values)


def stepper(pipeline: Pipeline) -> Callable[[torch.Tensor], None]:
    if pipeline.step_ms:
        return lambda _: time.sleep(pipeline.step_ms / 1e3)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(math.prod(pipeline.shape), 128))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(batch: torch.Tensor) -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    return step


def loader_of(pipeline: Pipeline) -> DataLoader[torch.Tensor]:
    return DataLoader(Samples(pipeline), batch_size=4, num_workers=pipeline.workers)


@dataclass(frozen=True)
class Measured:
    """Mean steps in ms, as the trace has them: on copies; with the loader, right before; of the window before that."""

    copies: float
    own: float
    window: float


def measured(pipeline: Pipeline) -> Measured:
    step = stepper(pipeline)
    with tempfile.TemporaryDirectory() as folder:
        with annotate.profile(folder, wait=4, active=8, headspace=STEPS, lines=False) as prof:
            for number, batch in enumerate(prof.steps(loader_of(pipeline))):
                step(batch)
                if number >= 12 + 3 * 4 + 4 * STEPS:
                    break
        with gzip.open(prof.trace_files[0]) as file:
            trace: Any = json.load(file)
    record = trace["dataPipeline"]["headspace"]
    window = [row["dur"] for row in trace["traceEvents"] if str(row.get("name")).startswith("ProfilerStep#")]
    return Measured(*(statistics.fmean(times) / 1e3 for times in (record["step_us"], record["own_us"], window)))


def cached_ms(pipeline: Pipeline, batches: Iterable[torch.Tensor]) -> float:
    """The mean step of a plain loop over batches in memory; the first two are left out."""
    step, times = stepper(pipeline), [0.0]
    for batch in batches:
        step(batch)
        times.append(time.perf_counter())
    return (times[-1] - times[3]) / (len(times) - 4) * 1e3


def interval(values: list[float]) -> tuple[float, float, float]:
    mean, freedom = statistics.fmean(values), len(values) - 1
    half = T_95.get(freedom, 2.0) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def compare(name: str, pairs: int) -> str:
    pipeline = PIPELINES[name]
    cached = [batch for batch, _ in zip(loader_of(pipeline), range(STEPS + 2), strict=False)]
    inside: list[Measured] = []
    apart: list[float] = []
    for number in range(pairs):
        for is_inside in (number % 2 == 1, number % 2 == 0):
            if is_inside:
                inside.append(measured(pipeline))
            else:
                apart.append(cached_ms(pipeline, [batch.clone() for batch in cached]))
    (a, a_low, a_high), (b, b_low, b_high) = interval([run.copies for run in inside]), interval(apart)
    overlap = "yes" if a_low <= b_high and b_low <= a_high else "no"
    spread = statistics.stdev(apart) / b
    ratios = sorted(run.own / run.window for run in inside)
    beside = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return (
        f"| {name} | {a:.2f} ({a_low:.2f} to {a_high:.2f}) | {b:.2f} ({b_low:.2f} to {b_high:.2f}) | {overlap} "
        f"| {100 * spread:.1f}% | {beside} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", default=",".join(PIPELINES), help="default: all ten")
    parser.add_argument("--pairs", type=int, default=5, help="at least 5")
    arguments = parser.parse_args()
    print("| pipeline | headspace, ms | cached run, ms | overlap | spread | with the loader, over the window |")
    print("|-|-|-|-|-|-|")
    for name in arguments.pipelines.split(","):
        print(compare(name, max(5, arguments.pairs)), flush=True)


if __name__ == "__main__":
    main()
