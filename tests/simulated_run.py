"""Made-up training runs with the noise of real ones: luck of the process, of its stages and workers, of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tb_dataplugin.model.trace import Trace
from tb_dataplugin.pipeline import analyse
from tb_dataplugin.reader.kineto import trace_from_json
from tb_dataplugin.report.report_pb2 import Capture
from tests.trace_builder import TraceBuilder

STAGES = {"decode::PIL.Image": 400.0, "transform::Blur": 900.0, "transform::Gamma": 300.0, "transform::Scale": 150.0}
"""Microseconds per call."""


@dataclass(frozen=True)
class Simulation:
    """A pipeline: what a call of each stage takes, and by how much (relative deviations) equal runs differ."""

    stages: dict[str, float] = field(default_factory=lambda: dict(STAGES))
    workers: int = 2
    batch_size: int = 4
    steps: int = 40
    train_us: float = 500.0
    run_luck: float = 0.012
    stage_luck: float = 0.012
    worker_luck: float = 0.01
    call_noise: float = 0.08
    preempted: float = 0.01  # share of the calls during which another program has the core for 4 ms

    def with_stage(self, name: str, factor: float) -> Simulation:
        changed = {**self.__dict__, "stages": {**self.stages, name: self.stages[name] * factor}}
        return Simulation(**changed)

    def run(self, rng: np.random.Generator, pid: int) -> Capture:
        """One run of it, captured."""
        return analyse(self.trace(rng, pid)).capture

    def trace(self, rng: np.random.Generator, pid: int) -> Trace:
        return trace_from_json(self.file(rng).json(), Path(f"host_{pid}.1.pt.trace.json"))

    def file(self, rng: np.random.Generator) -> TraceBuilder:
        """One run of it, as the trace file that it writes."""
        builder = TraceBuilder().annotated(loaders=[{"batch_size": self.batch_size, "num_workers": self.workers}])
        for worker in range(self.workers):
            builder.worker(worker)
        luck = self._luck(rng)
        free, now = np.full(self.workers, 100.0 + 10 * rng.random()), 100.0
        for number in range(self.steps):
            worker = number % self.workers
            begin = free[worker]
            free[worker] = self._make(builder, rng, number, worker, begin, luck[worker])
            consumed = max(now + 20, free[worker] + 20)
            builder.batch(number, worker, begin, begin, free[worker], consumed - 5)
            train = self.train_us * rng.lognormal(0, 0.05)
            builder.step(now, consumed + train - now).wait(now, consumed - now, "wait::DataLoader")
            now = consumed + train
        return builder

    def _luck(self, rng: np.random.Generator) -> list[dict[str, float]]:
        """Per worker: what a call of each stage takes in this run."""
        run = rng.lognormal(0, self.run_luck)
        mine = {name: mean * run * rng.lognormal(0, self.stage_luck) for name, mean in self.stages.items()}
        noise = rng.lognormal(0, self.worker_luck, (self.workers, len(mine)))
        return [dict(zip(mine, [*mine.values()] * row, strict=True)) for row in noise]

    def _make(
        self,
        builder: TraceBuilder,
        rng: np.random.Generator,
        number: int,
        worker: int,
        at: float,
        luck: dict[str, float],
    ) -> float:
        """The spans of a batch; when it is finished."""
        pid = 100 + worker
        for sample in range(self.batch_size):
            start = at = at + 2
            index = number * self.batch_size + sample
            facts: dict[str, Any] = {"batch": number, "epoch": 0, "index": index, "worker": worker}
            for name, mean in luck.items():
                cpu = mean * rng.lognormal(0, self.call_noise)
                wall = cpu + (4000 if rng.random() < self.preempted else 0)
                self._span(builder, name, at, wall, pid, facts | {"cpu_us": round(cpu, 3)})
                at += wall + 1
            self._span(builder, "sample::Photos", start - 1, at - start + 1, pid, facts)
        return at

    @staticmethod
    def _span(builder: TraceBuilder, name: str, at: float, took: float, pid: int, facts: dict[str, Any]) -> None:
        builder.add("user_annotation", name, round(at, 3), round(took, 3), pid=pid, tid=pid, **facts)


def runs(simulation: Simulation, rng: np.random.Generator, count: int) -> list[Capture]:
    """Captures of so many runs, each a process of its own."""
    return [simulation.run(rng, int(rng.integers(1, 1 << 30))) for _ in range(count)]
