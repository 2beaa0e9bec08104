"""What a lack of CPUs does to threads that share them."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.whatif.loop import Work


def longer(cpus: float, others: float, work: Work) -> tuple[float, float]:
    """How much longer the training thread takes for what needs a CPU, and how much longer all others do, which want
    `others` CPUs.

    It wakes up time and again, on a CPU that another thread has where none is free, and gets its share of that one CPU:
    half of it beside one thread, though all CPUs together would have more. The others get what it leaves.
    """
    taken = min(1.0, max(0.0, others - (cpus - 1))) * max(1.0, others / cpus)
    own = max(1.0, (others + work.demand) / cpus, 1.0 + taken)
    return own, max(1.0, others / (cpus - work.demand / own)) if others else 1.0


@dataclass(slots=True)
class Slowed:
    """Time without contention, and with it."""

    needed: float = 0.0
    took: float = 0.0

    def add(self, needed: float, took: float) -> None:
        self.needed += needed
        self.took += took

    @property
    def slowed(self) -> float:
        return self.took / self.needed if self.needed else 1.0
