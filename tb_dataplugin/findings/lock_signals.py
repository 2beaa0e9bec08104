"""Waiting for Python's lock (the GIL), as rules and verdict use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tb_dataplugin.findings.line_signals import HolderSignal
from tb_dataplugin.findings.thresholds import LOCK_LEADS


@dataclass(frozen=True, slots=True)
class LockSignals:
    """Waiting for Python's lock (the GIL): of the training thread, and of DataLoader workers that it waits for."""

    outside_us: float
    """Outside the data wait; with a device, the part of causes `host` and `launch`."""
    wait_us: float
    """Within what `wait_cost_us` is measured as."""
    error_us: float
    """Half of the 95% interval of their sum."""
    host_share: float
    """`outside_us` over the time that it is part of."""
    wait_share: float
    """`wait_us` over the time that it is part of."""
    in_workers_us: float
    """The part of `wait_us` in which a DataLoader worker waited for the lock of its own process."""
    no_cpu_us: float
    """The training thread's waiting for a CPU in the same time: a thread that has the lock has a CPU as well."""
    blocked_us: float
    """What else it is blocked for, outside the data wait."""
    has_recorder: bool
    """A thread of the recorder's had the lock for some of the time. That is in none of these numbers."""
    holders_us: Mapping[str, float]
    """Waits of the training thread, by the name of the thread that held the lock, the longest first."""
    holders: Mapping[str, HolderSignal] = field(default_factory=dict)
    """What these threads run, by name, where their stacks were sampled."""

    @property
    def total_us(self) -> float:
        return self.outside_us + self.wait_us

    @property
    def is_of_workers(self) -> bool:
        """Mostly DataLoader workers wait for it, and not the training thread."""
        return self.in_workers_us > self.total_us / 2

    @property
    def leads_wait(self) -> bool:
        """The data wait is mostly waiting for the lock."""
        return self.wait_share >= LOCK_LEADS

    @property
    def leads_host(self) -> bool:
        """What the training thread does outside the data wait is mostly waiting for the lock."""
        return self.host_share >= LOCK_LEADS
