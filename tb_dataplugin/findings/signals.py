"""The facts that rules may look at, under one name each. Times in microseconds, shares as fractions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotate.trace_format import Stage, parse_span_name
from tb_dataplugin.analyses.attribution import Attribution, DeviceAttribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.evidence import Evidence
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.samples import SlowSample
from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.throughput import Throughput, main_loader
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.reasons import Reason, rank
from tb_dataplugin.findings.thresholds import LONG_PAUSE_US
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import HostInfo, LoaderInfo, Mode, Trace, WorkerProcess
from tb_dataplugin.units import percent


@dataclass(frozen=True, slots=True)
class BlamedStage:
    """`share` is of the data wait; `exposed_us` is the part that the device felt (the whole blame without a device)."""

    name: str
    stage: Stage | None  # None for "other", "starved" and what else is no stage
    blame_us: float
    exposed_us: float
    share: float


@dataclass(frozen=True, slots=True)
class Signals:
    """None: not known from this trace. Devices: the first one.

    `felt_us` is the idle time with cause `data_wait` with a device, the data wait without one; of it,
    `waits_at_epoch_start_us` follow an ``iter(loader)``, `repeated_starts_us` that of an epoch after the first, and
    `head_of_line_us` passed while a later batch lay ready. `idle_by_cause_us` is empty without a device; a cause that
    the trace cannot tell is missing. `queued_us` is the part of `launch` in which the work had been launched before the
    gap began; `long_pauses_us` is the part of `host` in gaps with at least `LONG_PAUSE_US` of it.
    `longest_launch_us` is the most that one gap has of `launch`.
    """

    mode: Mode
    window_us: float
    step_count: int | None
    idle_us: float | None
    idle_by_cause_us: Mapping[Cause, float]
    queued_us: float
    long_pauses_us: float
    longest_launch_us: float
    gap_count: int
    wait_us: float | None
    exposed_us: float | None
    felt_us: float | None
    wait_count: int
    blamed: tuple[BlamedStage, ...] | None  # largest first
    rows: tuple[StageRow, ...]
    loader: LoaderInfo | None
    host: HostInfo
    torch_version: str
    worker_processes: tuple[WorkerProcess, ...]
    throughput: Throughput | None
    evidence: Evidence
    slow_samples: tuple[SlowSample, ...]
    waits_at_epoch_start_us: float
    repeated_starts_us: float
    head_of_line_us: float

    @property
    def idle_reasons(self) -> tuple[Reason, ...]:
        """Why the first device was idle, the most important reason first."""
        return rank(self.idle_by_cause_us, self.queued_us, self.window_us)

    @property
    def has_device(self) -> bool:
        return self.idle_us is not None

    def share(self, time_us: float | None) -> float | None:
        """Of the window; None when unknown."""
        return None if time_us is None or not self.window_us else time_us / self.window_us

    @property
    def felt_words(self) -> str:
        """What `felt_us` is, with its share."""
        who = "the device is idle and waits for data" if self.has_device else "the training thread waits for data"
        share = self.share(self.felt_us)
        return "" if share is None else f"{who} for {percent(share)} of the window"

    def per_step(self, time_us: float) -> float | None:
        return time_us / self.step_count if self.step_count else None

    @property
    def cores(self) -> float | None:
        """Cores that the process may use: CPU affinity, or the cgroup's quota if that is less."""
        told = [one for one in (self.host.cores, self.host.cpu_quota) if one]
        return min(told) if told else None

    @property
    def num_workers(self) -> int | None:
        return self.loader.num_workers if self.loader else None

    @property
    def makes_batches_in_workers(self) -> bool:
        """A training run with DataLoader workers."""
        return self.mode == "train" and bool(self.num_workers)

    def blamed_on(self, *names: str) -> BlamedStage | None:
        """The blame of the first of these that has any."""
        return next((one for one in self.blamed or () if one.name in names), None)

    def felt_of_rows(self, rows: Iterable[StageRow]) -> float:
        """The part of `felt_us` that these rows have. A row's blame is of all waits; the felt part is in proportion."""
        felt = 0.0
        for row in rows:
            stage = self.blamed_on(row.stage.name)
            if stage is not None and stage.blame_us and row.blame_ns:
                felt += row.blame_ns / 1e3 * stage.exposed_us / stage.blame_us
        return felt

    def felt_without(self, rows: Iterable[StageRow], blamed_us: float = 0.0) -> float:
        """By how much `felt_us` would shrink at most, were there no such rows.

        Their blame is what they took while somebody waited. Workers make batches also while nobody waits: without
        these rows every batch is ready earlier by what they take of one worker's time. No more than all that is felt.

        Args:
            blamed_us: the felt blame where it is more than that of the rows: batches begun before the window have none.
        """
        known = list(rows)
        blamed = max(blamed_us, self.felt_of_rows(known))
        if not self.makes_batches_in_workers or not self.num_workers or self.felt_us is None:
            return blamed
        making = sum(row.self_ns for row in known) / 1e3 / self.num_workers
        return min(self.felt_us, max(blamed, making))

    def is_input_bound(self, threshold: float) -> bool:
        share = self.share(self.felt_us)
        return share is not None and share >= threshold


def read_signals(
    trace: Trace,
    window: Window,
    steps: Steps | Unavailable,
    devices: tuple[DeviceIdle, ...] | Unavailable,
    loader: LoaderWait | Unavailable,
    attribution: Attribution,
    rows: tuple[StageRow, ...] | Unavailable,
    throughput: Throughput | Unavailable,
    evidence: Evidence,
    slow_samples: tuple[SlowSample, ...],
) -> Signals:
    wait = None if isinstance(loader, Unavailable) else loader.waits.total_ns / 1e3
    exposed = None if isinstance(loader, Unavailable) or loader.exposed is None else loader.exposed.total_ns / 1e3
    pipeline = trace.info.pipeline

    def felt(waits: Iterable[Intervals]) -> float:
        """How much of these waits `felt_us` holds."""
        told = Intervals.union_of(waits)
        return (told if blamed is None else told.intersect(blamed.causes.get("data_wait", EMPTY))).total_ns / 1e3

    blamed = attribution.devices[0] if attribution.devices else None
    causes = {} if blamed is None else {cause: time / 1e3 for cause, time in blamed.by_cause_ns.items()}
    return Signals(
        mode=trace.info.mode,
        window_us=window.duration_ns / 1e3,
        step_count=None if isinstance(steps, Unavailable) else len(steps),
        idle_us=None if isinstance(devices, Unavailable) else devices[0].gaps.total_ns / 1e3,
        idle_by_cause_us=causes,
        queued_us=0.0 if blamed is None else blamed.queued_ns / 1e3,
        long_pauses_us=_long_pauses(attribution),
        longest_launch_us=0.0 if blamed is None else _longest(blamed, "launch"),
        gap_count=len(blamed.gap_stage) if blamed else 0,
        wait_us=wait,
        exposed_us=exposed,
        felt_us=wait if blamed is None else causes.get("data_wait"),
        wait_count=0 if isinstance(loader, Unavailable) else len(loader.duration_ns),
        blamed=_blamed(attribution),
        rows=() if isinstance(rows, Unavailable) else rows,
        loader=main_loader(trace),
        host=pipeline.host if pipeline else HostInfo(),
        torch_version=dict(pipeline.versions).get("torch", "") if pipeline else "",
        worker_processes=pipeline.workers if pipeline else (),
        throughput=None if isinstance(throughput, Unavailable) else throughput,
        evidence=evidence,
        slow_samples=slow_samples,
        waits_at_epoch_start_us=felt(one.wait for one in evidence.flow.epoch_starts),
        repeated_starts_us=felt(one.wait for one in evidence.flow.epoch_starts if one.repeated),
        head_of_line_us=felt((evidence.flow.workers.head_of_line,) if evidence.flow.workers else ()),
    )


def _longest(device: DeviceAttribution, cause: Cause) -> float:
    """The most that one gap has of this cause."""
    return float(device.gap_causes_ns[cause].max(initial=0)) / 1e3 if cause in device.gap_causes_ns else 0.0


def _long_pauses(attribution: Attribution) -> float:
    """Idle time of cause `host` in gaps with at least `LONG_PAUSE_US` of it."""
    host = attribution.devices[0].gap_causes_ns.get("host") if attribution.devices else None
    return 0.0 if host is None else float(host[host >= LONG_PAUSE_US * 1e3].sum()) / 1e3


def _blamed(attribution: Attribution) -> tuple[BlamedStage, ...] | None:
    blame = attribution.wait_by_stage_ns
    if isinstance(blame, Unavailable):
        return None
    whole = sum(blame.values())
    felt = attribution.devices[0].by_stage_ns if attribution.devices else blame
    found = (
        BlamedStage(
            name=name,
            stage=parse_span_name(name),
            blame_us=time / 1e3,
            exposed_us=felt.get(name, 0) / 1e3,
            share=time / whole,
        )
        for name, time in blame.items()
    )
    return tuple(sorted(found, key=lambda one: (-one.blame_us, one.name)))
