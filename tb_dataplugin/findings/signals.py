"""The facts that rules use, each under one name. Times are in microseconds, shares are fractions.

This is the only place in `findings/` that knows nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from annotate.trace_format import StageKind
from tb_dataplugin.analyses.built_beside import BuiltBeside
from tb_dataplugin.analyses.host_load import HostLoad
from tb_dataplugin.analyses.inner_loops import Rhythm
from tb_dataplugin.analyses.items import Item
from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.analyses.lone_work import LoneWork
from tb_dataplugin.analyses.other_programs import OtherPrograms
from tb_dataplugin.analyses.queue_wait import QueueWait
from tb_dataplugin.analyses.recorder_load import RecorderLoad
from tb_dataplugin.analyses.remade import Remade
from tb_dataplugin.analyses.shared_lock import SharedLock
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.analyses.throughput import Throughput
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.diagnostics import Doubt
from tb_dataplugin.findings.apart_signals import ApartSignals, left_out
from tb_dataplugin.findings.beside_signals import BesideSignals
from tb_dataplugin.findings.device_signals import CopySignals, IdleSignals, SyncSignals
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.foresight import Foresight, Promise
from tb_dataplugin.findings.garbage_signals import GarbageSignals
from tb_dataplugin.findings.line_signals import HotLine, PatternSignal, StepSignals
from tb_dataplugin.findings.lock_signals import LockSignals
from tb_dataplugin.findings.look_signals import LookSignals
from tb_dataplugin.findings.rank_signals import RankSignals
from tb_dataplugin.findings.reasons import Reason, rank
from tb_dataplugin.findings.restart_signals import RestartSignals
from tb_dataplugin.findings.sample_signals import SampleHabit, SlowSampleSignal
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.started_signals import StartedSignals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.findings.uneven_signals import UnevenSignals
from tb_dataplugin.findings.unrecorded_signals import UnrecordedWait
from tb_dataplugin.findings.waste import WasteSignals
from tb_dataplugin.findings.worker_signals import WorkerSignals
from tb_dataplugin.model.trace import HostInfo, LoaderInfo, Mode, WorkerProcess
from tb_dataplugin.units import percent
from tb_dataplugin.whatif import Change

SAME_STEP: Final = 0.02
"""Part by which the mean step may differ from the window over its steps unsaid: what lies between steps is little."""

OF_ANNOTATED: Final = " of the annotated DataLoader"
"""Of data wait, where another one is beside it."""

FEEDER: Final = "feeder"
"""Among lines of the code: the thread that takes the batches where that is not the one that trains."""


@dataclass(frozen=True, slots=True)
class Signals:
    """None: not known from this capture. Devices: the first one."""

    mode: Mode  # training, replay, or a capture without our record
    window_us: float
    """Length of the window."""
    step_count: int | None
    """Steps in the window."""
    mean_step_us: float | None
    """Mean duration of a step, without what is apart."""
    idle: IdleSignals
    """Idle time of the device."""
    data_wait_us: float | None
    """The data wait of the training loop."""
    exposed_wait_us: float | None
    """Data wait that overlaps idle time; None without a device."""
    wait_cost_us: float | None
    """What faster data could save: idle time with cause `data_wait`; without a device the data wait itself. Without
    what is `beside`."""
    measured_cost_us: float | None
    """The same as it was in the window: `wait_cost_us` is an estimate where the window is not steady."""
    wait_count: int
    """Waits of the loop."""
    head_of_line_us: float
    """Part of `measured_cost_us` during which a later batch was finished already."""
    waits_by_stage: tuple[StageWait, ...] | None
    """Data wait by stage, the largest first; None when the stages are not in the trace."""
    stages: tuple[StageCalls, ...]
    """The stage table, of the calls that serve the loader; empty when there are no stages."""
    slow_samples: tuple[SlowSampleSignal, ...]
    """The slowest samples, slowest first."""
    sample_habits: Mapping[int, SampleHabit]
    """What they are slow beside."""
    slow_kinds: Mapping[str, str]
    """By stage: what a kind of its calls that is slow again and again has, in words."""
    loader: LoaderInfo | None
    """Settings of the loader that the capture is about."""
    host: HostInfo
    """Facts of the machine."""
    worker_processes: tuple[WorkerProcess, ...]
    """DataLoader workers that recorded."""
    workers: WorkerSignals | None
    """What they did; None without their records."""
    costs: WorkerCosts | None
    """What building batches cost them; None when not recorded."""
    load: HostLoad | None
    """How busy the machine was; None when not sampled."""
    throughput: Throughput | None
    """Samples per second."""
    copies: CopySignals | None
    """Copies to the device; None when nothing was copied."""
    syncs: SyncSignals | None
    """Synchronising calls; None without any."""
    ranks: RankSignals | None = None
    """None for a run of one process."""
    has_several_loaders: bool = False
    """The capture's record has more than one DataLoader."""
    loop_us: float = 0.0
    """Length of the window, had it been steady: `wait_cost_us` and gains are shares of it."""
    on_way_us: float = 0.0
    """Part of `measured_cost_us` during which the batch waited for was finished, on its way to the training thread."""
    unsteady: SteadyState | None = None
    """The steady state where it is estimated because the window is not steady; `wait_cost_us` is that estimate then."""
    stages_in_step: tuple[StageCalls, ...] = ()
    """The same of calls that the training step makes for itself: no data wait is theirs."""
    wait_may_exceed: float = 0.0
    """By what part of itself a long run's mean may exceed `wait_cost_us`: upper end of 95%, by chance; 0: not known."""
    doubts: tuple[Doubt, ...] = ()
    """What makes the whole capture doubtful, the worst first."""
    profiler_us: float = 0.0
    """Of a mean step, without data wait: torch's profiler's own time, where the report says so of it."""
    slows_launches: bool = False
    """torch's profiler slows launches to a device, and nothing says by how much."""
    unrecorded_wait: UnrecordedWait | None = None
    """Where that keeps data wait from being seen."""
    lock: LockSignals | None = None
    """None where waiting for Python's lock was not recorded, or too few samples were taken."""
    stage_lines: Mapping[str, HotLine] = field(default_factory=dict)
    """By the stage's name; without those of which too few samples were taken."""
    stages_without_lines: Mapping[str, str] = field(default_factory=dict)
    """Those of which too few samples were taken, and `FEEDER`: how many there are, as a clause."""
    stage_places: Mapping[str, str] = field(default_factory=dict)
    """Where a stage is defined, by its name: ``file:line``."""
    training_lines: Mapping[str, HotLine] = field(default_factory=dict)
    """Of the training thread, by the cause of idle time that it is in; "gil": waiting for Python's lock. `FEEDER`: of
    another thread of its process that takes the batches, outside all stages."""
    feeder_us: float = 0.0
    """Time that such a thread runs outside all stages, by stack samples."""
    step: StepSignals | None = None
    """What the training thread does outside the data wait; None where that was not sampled."""
    patterns: tuple[PatternSignal, ...] = ()
    """What lines inside stages are about, where that is known."""
    is_fed: bool = False
    """Another thread than the one that trains takes the batches, and the data wait is unknown."""
    queue_wait: QueueWait | None = None
    """The training thread in ``queue.get``, where another thread takes the batches and the data wait is unknown."""
    waste: WasteSignals = field(default_factory=WasteSignals)
    """Work that brings nothing."""
    taken: TakenCpus | None = None  # what it costs the step that DataLoader workers have the CPUs; None: not known
    beside_training_thread: float | None = None  # CPUs of other threads of the training process; None: not recorded
    other_programs: OtherPrograms | None = None  # CPUs that these had; None: not known
    unfollowed_workers: int | None = None  # of a DataLoader that is not followed; 0: number not known; None: no such
    apart: ApartSignals | None = None
    """Data wait that is not the training loop's: what this says of data wait, stages and steps is without it."""
    garbage: GarbageSignals = field(default_factory=GarbageSignals)  # what collecting Python's garbage takes
    shared_lock: SharedLock | None = None
    """For which DataLoader workers wait for one another; None where that was not seen."""
    possible_lock: str = ""
    """The line of a call to a database that they are blocked in, which may be for one another, or for data."""
    kept_loads: KeptLoads | None = None
    """Rare calls with most of the data wait, which each DataLoader worker would make again."""
    foresight: Foresight | None = None
    """What other settings would bring; None in a test of something else."""
    restarts: RestartSignals | None = None  # iterators that most steps make anew
    looks: LookSignals | None = None  # those that some steps make for a look at a few batches
    drawn_us: float = 0.0  # of `wait_cost_us`, for other loaders that most steps draw from, as zipped ones
    has_later_steps: bool = False  # of a capture of which some steps are looked at
    of_some_steps: bool = False  # sizes are of the whole capture all the same
    started_again: tuple[StartedSignals, ...] = ()  # other loaders whose workers start anew for each pass
    recorder: RecorderLoad | None = None  # None where the load of the machine was not recorded
    built_beside: BuiltBeside | None = None  # other threads of the program that build the loop's batches
    rhythm: Rhythm | None = None
    """Steps that wait at regular distances, or by far the longest; None where none stand out."""
    lone_work: LoneWork | None = None
    uneven: UnevenSignals | None = None  # None where steps take no longer with larger batches, or that is not known
    beside: BesideSignals | None = None  # None: most steps draw from no DataLoader that is not annotated
    replays_named: bool = False  # samples that somebody named: none of them is a typical one
    remade: Remade | None = None  # the training loop's DataLoader, where the program makes it again and again
    item: Item = "sample"  # what the dataset of the training loop's DataLoader makes in one call

    @property
    def recording_crowds(self) -> bool:
        """No CPU was free, and recording had a part of them: whose waiting for a CPU is whose fault is not known."""
        return self.recorder is not None and self.recorder.crowds

    @property
    def collector_has_wait(self) -> bool:
        """Most of the data wait is the garbage collector of the training process, not the loader."""
        return 2 * (self.garbage.wait_us or 0.0) > (self.data_wait_us or 0.0)

    @property
    def restarts_lead(self) -> bool:
        """Making iterators anew in each step costs enough, for certain, to be mended first."""
        return self.restarts is not None and (self.share(self.restarts.certain_us) or 0.0) >= INPUT_BOUND

    @property
    def starts_workers_anew(self) -> bool:
        """And DataLoader workers with them, so that none is ever ahead: what stages, workers and queues then cost is
        judged anew without that.
        """
        return self.restarts is not None and self.restarts_lead and self.restarts.has_workers

    @property
    def lock_limits_wait(self) -> bool:
        """More processes or a deeper queue would not shorten the data wait: it is mostly waiting for Python's lock."""
        return self.lock is not None and self.lock.leads_wait and not self.lock.is_of_workers

    @property
    def lock_limits_host(self) -> bool:
        """Neither fewer operators nor another thread would help: the training thread mostly waits for Python's lock."""
        return self.lock is not None and self.lock.leads_host

    @property
    def idle_reasons(self) -> tuple[Reason, ...]:
        """Why the device was idle, the most important reason first."""
        return rank(self.idle.by_cause_us, self.idle.launched_early_us, self.window_us)

    @property
    def has_device(self) -> bool:
        return self.idle.total_us is not None

    @property
    def whole_cost_us(self) -> float | None:
        """`wait_cost_us` with what is beside."""
        beside_us = self.beside.cost_us if self.beside else 0.0
        return None if self.wait_cost_us is None else self.wait_cost_us + beside_us

    @property
    def asked_wait_us(self) -> float | None:
        """The loop's data wait without what is beside."""
        beside_us = self.beside.wait_us if self.beside else 0.0
        return None if self.data_wait_us is None else max(0.0, self.data_wait_us - beside_us)

    @property
    def asked_wait(self) -> str:
        """The name of that."""
        return f"{self.own_wait}{OF_ANNOTATED if self.beside else ''}"

    @property
    def own_window_us(self) -> float:
        """Length of the window without what is apart."""
        return self.window_us - (self.apart.time_us if self.apart else 0.0)

    @property
    def measured_share(self) -> float | None:
        """The loop's data wait, of that; None when unknown."""
        wait, window = self.data_wait_us, self.own_window_us
        return None if wait is None or window <= 0 else wait / window

    @property
    def own_window(self) -> str:
        """The name of that."""
        names = left_out(self.apart)
        return f"window without {names}" if names else "window"

    @property
    def own_wait(self) -> str:
        """The name of the loop's data wait."""
        return "data wait of the loop" if self.apart else "data wait"

    def share(self, time_us: float | None) -> float | None:
        """Of the window; None when unknown."""
        return None if time_us is None or not self.window_us else time_us / self.window_us

    def loop_share(self, time_us: float | None) -> float | None:
        """Of the window as it is in the steady state; None when unknown."""
        return None if time_us is None or not self.loop_us else time_us / self.loop_us

    @property
    def step_us(self) -> float | None:
        """The step that gains and lines of the step are shares of: of the steady state where the window is not steady.

        It is the window over its steps, so that a share of the step and of the window are one number; the mean step
        where more lies between steps, and wherever a gain is printed beside it (`gain`).
        """
        if self.mean_step_us is None or not self.step_count or not self.loop_us:
            return self.mean_step_us
        longer_us = self.loop_us - self.own_window_us if self.unsteady is not None else 0.0
        mean, whole = self.mean_step_us + longer_us / self.step_count, self.loop_us / self.step_count
        return whole if abs(mean - whole) <= SAME_STEP * whole else mean

    def of_step(self, time_us: float) -> float | None:
        """A time of the window as a share of its steps; None where no step is known."""
        each, step_us = self.per_step(time_us), self.step_us
        return None if each is None or not step_us else each / step_us

    def in_steady_state(self, time_us: float) -> float:
        """What a part of `measured_cost_us` for finished batches is of `wait_cost_us`: a queue that empties hides none
        of that, only waits for batches that are still built.
        """
        if self.wait_cost_us is None or not self.measured_cost_us:
            return time_us
        return time_us * min(1.0, self.wait_cost_us / self.measured_cost_us)

    @property
    def cost_name(self) -> str:
        """What `wait_cost_us` is a time of."""
        return "idle: data wait" if self.has_device else "data wait"

    def per_step(self, time_us: float) -> float | None:
        return time_us / self.step_count if self.step_count else None

    def promise(self, change: Change, most_us_per_step: float | None, recorded_us: float = 0.0) -> Promise:
        """At most: `most_us_per_step`, as far as `whatif` agrees. `recorded_us`: what recording has of the wait."""
        most_us, left_us = most_us_per_step, self.per_step((self.wait_cost_us or 0.0) - recorded_us) or 0.0
        return self.foresight.promise(change, most_us, left_us) if self.foresight else Promise(most_us)

    @property
    def slow_files(self) -> tuple[str, ...]:
        """That the slowest samples read, as far as it is known."""
        return tuple(file for sample in self.slow_samples for file in sample.files)

    @property
    def is_cut(self) -> bool:
        """Whether the end of the file is missing."""
        return any(doubt.code == "cut_off" for doubt in self.doubts)

    def is_input_bound(self, threshold: float) -> bool:
        cost = self.loop_share(self.wait_cost_us)
        return cost is not None and cost >= threshold

    def wait_cost_evidence(self) -> tuple[Evidence, ...]:
        """What `wait_cost_us` is, with its share of the window."""
        cost = self.loop_share(self.wait_cost_us)
        if cost is None:
            return ()
        of = OF_ANNOTATED if self.beside else ""
        if self.unsteady is not None:
            text = f"in the steady state data wait{of} costs about {percent(cost)} of the step (estimated)"
            return (share("steady_wait_cost", cost, "step", text),)
        whole = self.own_window
        who = "the device is idle and waits for data" if self.has_device else "the training thread waits for data"
        return (share("wait_cost", cost, whole, f"{who}{of} for {percent(cost)} of the {whole}"),)

    @property
    def cpus(self) -> float | None:
        """CPUs that the process may use: its affinity, or the cgroup's quota if that is less."""
        known = [limit for limit in (self.host.cores, self.host.cpu_quota) if limit]
        return min(known) if known else None

    @property
    def num_workers(self) -> int | None:
        return self.loader.num_workers if self.loader else None

    @property
    def builds_batches_in_workers(self) -> bool:
        """A training run with DataLoader workers."""
        return self.mode == "train" and bool(self.num_workers)

    def wait_for(self, name: str) -> StageWait | None:
        """The data wait that stage `name` caused."""
        return next((wait for wait in self.waits_by_stage or () if wait.name == name), None)

    def wait_for_kinds(self, *kinds: StageKind) -> StageWait | None:
        """The data wait that all stages of these kinds caused, and what is named as such a kind ("transfer")."""
        waits = [wait for wait in self.waits_by_stage or () if wait.name in kinds or wait.kind in kinds]
        if not waits:
            return None
        wait, cost = sum(one.data_wait_us for one in waits), sum(one.cost_us for one in waits)
        return StageWait(kinds[0], None, wait, cost, sum(one.share for one in waits))

    def in_step_us(self, stage: str) -> float:
        """Self time, in the window, of the calls of a stage that the training step makes for itself."""
        return sum(row.self_us for row in self.stages_in_step if row.stage.name == stage)

    def cost_of(self, calls: Iterable[StageCalls]) -> float:
        """The part of `wait_cost_us` that these calls caused: in proportion to the data wait that they caused; to their
        time where the window shows none of it.
        """
        cost = 0.0
        for row in calls:
            wait = self.wait_for(row.stage.name)
            if wait is not None and wait.data_wait_us:
                cost += (row.data_wait_us or 0.0) * wait.cost_us / wait.data_wait_us
            elif wait is not None and row.self_us:
                same = sum(other.self_us for other in self.stages if other.stage == row.stage)
                cost += row.self_us * wait.cost_us / same
        return cost

    def cost_in_thread(self, calls: Iterable[StageCalls]) -> float:
        """Of `cost_of`, what calls in the training thread caused."""
        cost = 0.0
        for row in calls:
            wait = self.wait_for(row.stage.name)
            if wait is not None and wait.data_wait_us:
                cost += row.thread_wait_us * wait.cost_us / wait.data_wait_us
        return cost
