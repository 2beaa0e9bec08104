"""What threads were seen to do: samples of the training thread and of the main threads of DataLoader workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from annotate.trace_format import THREAD_WAITS_FOR_LOCK
from tb_dataplugin.model.intervals import Int64Array


@dataclass(frozen=True, slots=True)
class SampledThread:
    """Equally long columns, by time.

    `state` is 0 running or waiting for a CPU, 1 blocked, from 2 on waiting for Python's lock: 2 held by nobody known,
    then by ``holders[state - 3]``. `cpu_ns` and `delay_ns` are since the sample before: on a CPU, waiting for one.
    """

    pid: int
    is_training: bool
    lock_known: bool
    time_ns: Int64Array
    state: Int64Array
    cpu_ns: Int64Array
    delay_ns: Int64Array

    @property
    def is_running(self) -> npt.NDArray[np.bool_]:
        return np.equal(self.state, 0)

    @property
    def is_blocked(self) -> npt.NDArray[np.bool_]:
        return np.equal(self.state, 1)

    @property
    def waits_for_lock(self) -> npt.NDArray[np.bool_]:
        return np.greater_equal(self.state, THREAD_WAITS_FOR_LOCK)

    @property
    def weight_ns(self) -> Int64Array:
        """The time that each sample stands for: half of the way to those around it."""
        if len(self.time_ns) < 2:
            return np.ones(len(self.time_ns), dtype=np.int64)
        middle = (self.time_ns[1:] + self.time_ns[:-1]) // 2
        edges = np.concatenate(([self.time_ns[0]], middle, [self.time_ns[-1]]))
        return np.diff(edges)

    @property
    def delayed(self) -> npt.NDArray[np.float64]:
        """Around each sample, the share of waiting for a CPU in the time that it ran or waited for one."""
        cpu, delay = (np.append(column, 0) for column in (self.cpu_ns, self.delay_ns))
        around, waited = cpu[:-1] + cpu[1:] + delay[:-1] + delay[1:], delay[:-1] + delay[1:]
        share: npt.NDArray[np.float64] = waited / np.maximum(around, 1)
        return share

    @property
    def counts(self) -> bool:
        """False: a kernel that counts neither."""
        return bool(self.cpu_ns.any() or self.delay_ns.any())

    @property
    def blocked_between_ns(self) -> Int64Array:
        """Between each sample and the next, what the thread neither ran nor waited for a CPU, at most."""
        length, carried = np.diff(self.time_ns), self._carried_ns
        return length - (self.cpu_ns + self.delay_ns)[1:] - carried[1:] + carried[:-1] if self.counts else length

    @property
    def delay_between_ns(self) -> Int64Array:
        """The same, what it waited for a CPU at most: of a wait that began there all that fits."""
        length, later = np.diff(self.time_ns), self._carried_ns[1:]
        if not self.counts:
            return length
        room = length - self.cpu_ns[1:]
        crossing = np.where(later > 0, later + np.append(room[1:], 0), 0)
        return np.clip(self.delay_ns[1:] + crossing, 0, np.maximum(0, room))

    @property
    def _carried_ns(self) -> Int64Array:
        """What is counted at each sample, or later, and was before it. A wait for a CPU is counted when it is over, and
        may then be longer than the time since the sample before.
        """
        more = (self.cpu_ns + self.delay_ns)[1:] - np.diff(self.time_ns)
        later = np.cumsum(np.concatenate(([0], more[::-1])))
        carried: Int64Array = (later - np.minimum.accumulate(later))[::-1]
        return carried


@dataclass(frozen=True, slots=True)
class ThreadSamples:
    """`holders`: names of threads that held the lock. `cost_ns`: CPU time that taking the samples took.

    `why_not`, `why_no_lock`: why there are none, and why none shows waiting for the lock; "" where there is no reason.
    """

    threads: tuple[SampledThread, ...] = ()
    holders: tuple[str, ...] = ()
    cost_ns: int | None = None
    left_out: int = 0
    why_not: str = ""
    why_no_lock: str = ""

    @property
    def training(self) -> SampledThread | None:
        return next((thread for thread in self.threads if thread.is_training), None)
