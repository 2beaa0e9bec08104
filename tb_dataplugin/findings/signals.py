"""The facts that rules may look at, under one name each. Times in microseconds, shares as fractions."""

from __future__ import annotations

from dataclasses import dataclass

from annotate.trace_format import Stage, parse_span_name
from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.stages import StageRow
from tb_dataplugin.analyses.steps import Steps
from tb_dataplugin.analyses.throughput import main_loader
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import LoaderInfo, Mode, Trace
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
    """None: not known from this trace. `felt_us` is the exposed wait with a device, the data wait without one."""

    mode: Mode
    window_us: float
    step_count: int | None
    idle_us: float | None
    wait_us: float | None
    felt_us: float | None
    blamed: tuple[BlamedStage, ...] | None  # largest first
    rows: tuple[StageRow, ...]
    loader: LoaderInfo | None
    cores: int | None

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
) -> Signals:
    wait = None if isinstance(loader, Unavailable) else loader.waits.total_ns / 1e3
    exposed = None if isinstance(loader, Unavailable) or loader.exposed is None else loader.exposed.total_ns / 1e3
    return Signals(
        mode=trace.info.mode,
        window_us=window.duration_ns / 1e3,
        step_count=None if isinstance(steps, Unavailable) else len(steps),
        idle_us=None if isinstance(devices, Unavailable) else devices[0].gaps.total_ns / 1e3,
        wait_us=wait,
        felt_us=wait if exposed is None else exposed,
        blamed=_blamed(attribution),
        rows=() if isinstance(rows, Unavailable) else rows,
        loader=main_loader(trace),
        cores=trace.info.pipeline.host.cores if trace.info.pipeline else None,
    )


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
