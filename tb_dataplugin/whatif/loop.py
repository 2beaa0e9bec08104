"""What one capture says of a training loop and its loader: all that a simulation needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.analyses.shared_lock import SharedLock
from tb_dataplugin.analyses.stages import Path
from tb_dataplugin.analyses.undivided import Undivided
from tb_dataplugin.diagnostics import Doubt
from tb_dataplugin.model.trace import HandedOver, LoaderInfo

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

Epoch = tuple[tuple[int, ...], ...]
"""Of each DataLoader worker, the rows of `Loop.build` that it delivers in one epoch, in order."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One row for each time that something was done, in order; columns are what its time went to (ns)."""

    parts: tuple[Path, ...]
    """The chain of stages of each column; the empty chain has time that no stage has."""
    ns: Floats

    def __len__(self) -> int:
        return len(self.ns)

    @property
    def total_ns(self) -> Floats:
        """Per row."""
        total: Floats = self.ns.sum(axis=1)
        return total


@dataclass(frozen=True, slots=True)
class StepParts:
    """Calls of stages in the training step: one row for each step; columns are shares of its own time."""

    parts: tuple[Path, ...] = ()
    shares: Floats = field(default_factory=lambda: np.zeros((1, 0)))

    def of(self, is_of: Callable[[Path], bool]) -> Floats:
        """Per step, the share of those stages."""
        share: Floats = self.shares[:, [is_of(part) for part in self.parts]].sum(axis=1)
        return share


@dataclass(frozen=True, slots=True)
class Settings:
    """`prefetch`: batches per DataLoader worker that are asked for ahead of the loop."""

    workers: int
    prefetch: int
    in_order: bool


@dataclass(frozen=True, slots=True)
class Work:
    """CPUs that each of its threads keeps busy, on average; `power`: see `Loop.power`, `eased`: `Loop.eased`."""

    cpus: float
    threads: float = 1.0
    power: float = 1.0
    eased: float = 1.0

    @property
    def demand(self) -> float:
        """CPUs that all of its threads want."""
        return self.cpus * self.threads

    def slowed(self, short: float) -> float:
        """How much longer it takes where CPUs are `short` by that factor; never shorter."""
        on_cpu = min(1.0, self.cpus)
        return max(1.0, self.eased * (1.0 - on_cpu + on_cpu * float(max(1.0, short) ** self.power)))


@dataclass(frozen=True, slots=True)
class DeviceWait:
    """For how long a device is idle per step, in ns, and what the host does meanwhile."""

    cause: Cause
    ns: float


@dataclass(frozen=True, slots=True)
class OwnShare:
    """Beside other programs that compete: `cpus` that they left to the loop and its DataLoader workers; and of the time
    in which the step waits for a CPU, the part that its workers have to do with, at most.
    """

    cpus: float
    at_most: float


NOTHING: Final = Work(0.0)

LEAST_LEFT: Final = 0.1
"""Part of the CPUs that others leave at least, however often they come."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop in its steady state. Times in ns, without waiting for a CPU: the simulation adds that.

    build          batches, built in DataLoader workers, or inside ``next()`` without any
    way_ns         from its finish to when the training process could begin to receive it, per batch
    receive        the training thread's own part of ``next()``: drawing indices, receiving, code around the loader
    own_ns         the rest of a step, per step; `in_step`: what of it is stages that the loader may call as well
    build_cpus     CPUs that building keeps busy, on average; `own_cpus`: of the rest of a step, each of its threads
    own_threads    that compute a step together: it goes on when the last of them is done
    own_delayed    share of a step's own time in which the training thread waited for a CPU, taken off `own_ns`
    cpus           that there are; threads of others want `other_cpus` of them all the time
    """

    settings: Settings
    build: Timed
    way_ns: Floats
    receive: Timed
    own_ns: Floats
    build_cpus: float
    own_cpus: float
    cpus: float
    other_cpus: float
    batches_per_step: float
    samples_per_step: float | None
    batch_bytes: float | None
    measured_step_ns: float
    measured_wait_ns: float
    """Per step, in the window's steady state."""
    send_ns: float = 0.0
    """By how much a DataLoader worker that sends its last batch all the while builds the next one later: both want the
    interpreter's lock. `build` is without it.
    """
    held_ns: Floats = field(default_factory=lambda: np.zeros(1))
    """Per batch, for how long receiving it is held up at most by its worker, while that builds another one: it needs
    the interpreter's lock there. Infinite: until that one is built. Not in `receive`.
    """
    maybe_held_ns: Floats = field(default_factory=lambda: np.zeros(1))
    """Per batch: `held_ns` is half of it, and the other half in `receive`, where it is not known which it is."""
    light_cpus: float = 0.0
    """CPUs that others have for moments: the scheduler lets them go first, before whoever computes all the time."""
    own_share: OwnShare | None = None
    """None where no other programs compete for the CPUs, or that is not known."""
    cpus_busy: float = 0.0
    """Share of them that were busy in the window, without those of the recorder; 0: not known."""
    ahead: int = 0
    """Batches that another thread of the program, which receives them, keeps ready for the loop, at least: that thread
    has what no stage has of `receive`. 0: the training thread receives them.
    """
    around_ns: float = 0.0
    """Of ``next()``, once the next index is drawn: code around the loader that is no stage. Not in `receive`."""
    on_cpu: Mapping[Path, float] = field(default_factory=dict)
    """Of the own time of these parts of `build`, the share that is work for a CPU; others: as `build_cpus`."""
    result_bytes: Mapping[Path, float] = field(default_factory=dict)
    """Mean size of the results of these parts of `build`; of others it was not measured."""
    receive_cpus: float = 1.0
    """CPUs that receiving keeps busy, and code around the loader."""
    step_batches: str = ""
    """``"4 batches"``, ``"about 4 batches"``: what a step takes, where that is known and not one."""
    own_threads: float = 1.0
    own_delayed: float = 0.0
    in_step: StepParts = field(default_factory=StepParts)
    left_out: str = ""
    """Names what the capture has besides, as an epoch's start, which is not in here; "" where that is nothing."""
    lone_step: str = ""
    """Names of that the one step whose own work is most of all steps'; "" without one."""
    loader: LoaderInfo = field(default_factory=LoaderInfo)
    """Whose settings are changed."""
    other_loaders: tuple[LoaderInfo, ...] = ()
    """That the capture has besides, and that nothing is predicted of."""
    other_stages: Mapping[str, LoaderInfo] = field(default_factory=dict)
    """Names of stages of theirs that are none of its own, each with one that has it."""
    beside_ns: float = 0.0
    """Per step, in `own_ns` and not in `measured_wait_ns`: data wait for another loader that most steps draw from."""
    is_beside_unannotated: bool = False
    paused_ns: Floats = field(default_factory=lambda: np.zeros(1))
    """Per step, and in no step's time: the loop waits for another DataLoader, and its own workers build ahead."""
    away_ns: float = 0.0
    """Per step, on average: what else these have, between two epochs, where workers have nothing to build."""
    device_ns: float | None = None
    """Per step, of the device that is busiest; None without one."""
    device_pageable_ns: float = 0.0
    """Of that: copying from pageable memory, beside no kernel."""
    device_wait: DeviceWait | None = None
    """Of that device, for the rest of a step: what it waits for longest."""
    built: tuple[tuple[int, int], ...] = ()
    """Epoch and number of each batch of `build`; empty where the training thread builds them."""
    built_by: tuple[int, ...] = ()
    """The DataLoader worker of each batch of `build`, where its time is that worker's (`dealing`); else empty."""
    differ: bool = False
    """Its DataLoader workers need different times for a batch, by more than chance."""
    own_parts: bool = False
    """Each DataLoader worker has an iterator of its own over an iterable dataset."""
    epochs: tuple[Epoch, ...] = ()
    """Where DataLoader workers have parts of an iterable dataset of unequal size: epochs of the window, to be played
    one by one, since some workers are at their end before others, and nothing is built between epochs. Else empty.
    """
    whole_epochs: bool = True
    """Else the window has no whole one: `epochs` is the longest piece of one."""
    starts_left_out: bool = False
    """The waits for the first batches of epochs are not in `measured_step_ns`."""
    starts: int = 0
    """Epochs that start in the window, and whose waits for a first batch are in `measured_step_ns`."""
    keeps_shares: bool = False
    """Without order, too, each DataLoader worker delivers as many batches as the others."""
    batch_size: int | None = None
    wait_ends_ns: tuple[float, float] | None = None
    """Of `measured_wait_ns`, its 95% interval where an epoch starts or ends in the window; None elsewhere."""
    threads_compete: bool = False
    """Libraries run hidden threads in DataLoader workers, for which no CPU is free (`WorkerCosts.threads_compete`)."""
    is_pinned: bool = False
    pageable_ns: float | None = None
    """Per step, host time in the calls that copy from pageable memory to a device; None: no such copy was recorded."""
    worker_bytes: Floats | None = None
    """Resident memory of one DataLoader worker, as it was sampled in the window, pages that it shares with others
    included; None where it was not.
    """
    handed_over: HandedOver | None = None
    """A batch in pickle, where there are no DataLoader workers and that was measured."""
    locked: float = 0.0
    """Share of the window in which its thread waits for Python's lock, that others of the program hold."""
    in_collectives: float = 0.0
    """Share of the window, waiting for other ranks included."""
    lock: SharedLock | None = None
    """For which its DataLoader workers wait for one another."""
    possible_lock: str = ""
    """The place of a call to a database that they are blocked in, perhaps for one another."""
    kept: KeptLoads | None = None
    """Rare calls that each of its DataLoader workers makes."""
    undivided: Undivided | None = None
    """Its dataset, where each of several DataLoader workers may read all of it."""
    advised: tuple[Settings, ...] = ()
    """That findings about the capture advise."""
    doubts: tuple[Doubt, ...] = ()
    """What makes the capture doubtful, and with it all that is predicted from it."""
    receive_delayed: float = 0.0
    """The same as `own_delayed`, of what the training thread does in ``next()``, taken off `receive`."""
    build_delayed: float = 0.0
    """The same of building, taken off `build`."""
    eased: float = 1.0
    """By how much the rest of a step takes longer, for want of CPUs, in the window, over what the simulation makes of
    it (`as_measured`); it is never shorter than without waiting for one.
    """
    receive_eased: float = 1.0
    """The same of what the training thread does in ``next()``."""
    build_eased: float = 1.0
    """The same of building."""
    stretched: float = 1.0
    """By how much building, sending and receiving batches take longer than their parts explain, so that the simulation
    waits for data as long as the window (`as_measured`). In none of the times here.
    """
    own_power: float | None = None
    """How much a lack of CPUs slows the step: its factor to this power; None: in the middle of what is possible."""

    @property
    def others_us(self) -> float:
        """Per step, on average, and in no step's time: what other DataLoaders have of the run."""
        return (float(self.paused_ns.mean()) + self.away_ns) / 1e3

    @property
    def left_cpus(self) -> float:
        """For whoever computes all the time."""
        return max(LEAST_LEFT * self.cpus, self.cpus - self.light_cpus)

    @property
    def power(self) -> float:
        """Threads that wait for each other lose between the factor (all wait at once) and its power of `own_threads`
        (independently).
        """
        return (1 + self.own_threads) / 2 if self.own_power is None else self.own_power

    @property
    def taking_ns(self) -> Floats:
        """Per batch, of `receive`: what another thread does beside the steps."""
        ns: Floats = self.receive.ns[:, [self.ahead > 0 and not part for part in self.receive.parts]].sum(axis=1)
        return ns

    @property
    def building(self) -> Work:
        """Of one DataLoader worker."""
        return Work(self.build_cpus, eased=self.build_eased)

    @property
    def step(self) -> Work:
        """What the training thread does between two batches."""
        return Work(self.own_cpus, self.own_threads, self.power, self.eased)

    @property
    def receiving(self) -> Work:
        """What it does itself inside of ``next()``."""
        return Work(self.receive_cpus, eased=self.receive_eased)
