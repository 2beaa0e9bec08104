"""Loops that take the time that they are told to: what a search finds is known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tb_dataplugin.tune.guarding import Free
from tb_dataplugin.tune.running import CannotRun, Facts, Limits, Window
from tb_dataplugin.tune.search import Outcome, Search
from tb_dataplugin.tune.setting import Changes, Value, in_effect

MADE: Mapping[str, Value] = {
    "num_workers": 0, "prefetch_factor": None, "pin_memory": False, "persistent_workers": False, "in_order": True,
}  # fmt: skip
FACTS = Facts(made=MADE, cpus=4, takes=frozenset({"in_order"}), batch_size=8)
PLENTY = Free(1e12, 1e12)

Cost = Callable[[Mapping[str, Value]], float]
"""Seconds per step by settings."""


@dataclass
class MadeUpLoop:
    step_s: float
    noise: Callable[[], float]
    runner: MadeUpRunner
    delivered: tuple[int, bool] = (0, False)

    def window(self) -> Window:
        self.runner.windows += 1
        self.runner.now += 2.0
        if self.runner.windows == self.runner.interrupted_at:
            raise KeyboardInterrupt
        step = self.step_s * self.noise()
        return Window(
            100, 100 * step, 100 * max(0.0, step - self.runner.own_s), self.runner.epochs, 1e8, 1e6, *self.delivered
        )

    def close(self) -> None:
        self.runner.open -= 1


@dataclass
class MadeUpRunner:
    """`scatter`: standard deviation (relative) of a window; refused: settings that do not start; delivered: of so many
    DataLoader workers, batches of a pass, and whether each delivers the same.
    """

    cost: Cost
    scatter: float = 0.01
    own_s: float = 0.001
    epochs: int = 0
    refused: tuple[Changes, ...] = ()
    interrupted_at: int = -1
    delivered: Callable[[int], tuple[int, bool]] = lambda workers: (0, False)
    windows: int = 0
    open: int = 0
    now: float = 0.0
    started: list[Changes] = field(default_factory=list)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def start(self, changes: Changes) -> MadeUpLoop:
        self.started.append(changes)
        if changes in self.refused:
            raise CannotRun("ValueError: torch says no")
        self.open += 1
        noise = lambda: float(np.exp(self.random.normal(0, self.scatter)))  # noqa: E731
        settings = in_effect(changes, MADE)
        return MadeUpLoop(self.cost(settings), noise, self, self.delivered(int(settings["num_workers"] or 0)))

    def search(self, limits: Limits | None = None, free: Free = PLENTY, facts: Facts = FACTS) -> Outcome:
        """Without a model, on a clock that windows alone move."""
        said: list[str] = []
        outcome = Search(
            self, facts, None, limits or Limits(), said.append, clock=lambda: self.now, free=lambda: free
        ).run()
        assert self.open == 0
        return outcome


def by_workers(settings: Mapping[str, Value]) -> float:
    """10 ms of building shared by at most four workers, beside a step of 1 ms; sending a batch takes 0.1 ms."""
    workers = int(settings["num_workers"] or 0)
    return 0.011 if not workers else max(0.0015, 0.010 / min(workers, 4)) + 0.0001
