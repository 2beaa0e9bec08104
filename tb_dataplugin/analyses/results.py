"""All that the analyses found in one trace: what findings, report and timeline are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tb_dataplugin.analyses.attribution import Attribution
from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.device_idle import DeviceIdle
from tb_dataplugin.analyses.flow import Flow
from tb_dataplugin.analyses.gaps import Gap
from tb_dataplugin.analyses.headspace import Headspace
from tb_dataplugin.analyses.host_load import HostLoad
from tb_dataplugin.analyses.hot_lines import HotLines
from tb_dataplugin.analyses.loader_use import LoaderUse
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.looks import Looks
from tb_dataplugin.analyses.loop import Loop
from tb_dataplugin.analyses.memory_growth import MemoryGrowth
from tb_dataplugin.analyses.named_loader import NamedLoader
from tb_dataplugin.analyses.occupancy import Occupancy
from tb_dataplugin.analyses.profiler_weight import ProfilerWeight
from tb_dataplugin.analyses.queue_wait import QueueWait
from tb_dataplugin.analyses.remade import Remade
from tb_dataplugin.analyses.replayed_samples import ReplayedSample
from tb_dataplugin.analyses.restarts import Restarts
from tb_dataplugin.analyses.samples import Samples
from tb_dataplugin.analyses.sawtooth import Sawtooth
from tb_dataplugin.analyses.stage_blocks import StageBlocks
from tb_dataplugin.analyses.stage_details import StageDetail
from tb_dataplugin.analyses.stage_summary import StageSummary
from tb_dataplugin.analyses.stage_weight import StageWeight
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree
from tb_dataplugin.analyses.started_again import StartedAgain
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.step_table import StepTable
from tb_dataplugin.analyses.steps import StepSelection
from tb_dataplugin.analyses.syncs import SyncFigures
from tb_dataplugin.analyses.thread_limits import ThreadLimits
from tb_dataplugin.analyses.throughput import Throughput
from tb_dataplugin.analyses.uneven_batches import UnevenBatches
from tb_dataplugin.analyses.whole_capture import WholeCapture
from tb_dataplugin.analyses.worker_costs import WorkerCosts
from tb_dataplugin.analyses.worker_summary import WorkerSummary
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.diagnostics import Diagnostic, Doubt
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import LoaderInfo, Trace


@dataclass(frozen=True, slots=True)
class Results:
    """None, or empty: cannot be known; `diagnostics` has the reason.

    `copies` and `gaps` are per device, in the order of `devices`; a device that nothing was copied to has None.
    `occupancy` has the stages whose CPU time is known. `selection`: the steps that all of it is about, None where
    nobody chose any. `use`: which of several loaders is the training loop's; `loop`: that loop as it goes on, which
    verdict, findings and rates are about. `restarts`: loaders of which most steps make an iterator; they have no steady
    state beside that. `looks`: those of which some steps do, for a few batches; `started_again`: for all of them, with
    new DataLoader workers. `whole`: of all steps, also where some were chosen. `named`: the loader that the capture is
    known by, where that is another one than the training loop's.
    """

    trace: Trace
    window: Window
    steps: StepTable | None
    sawtooth: Sawtooth | None
    devices: tuple[DeviceIdle, ...]
    gaps: tuple[tuple[Gap, ...], ...]
    copies: tuple[CopyFigures | None, ...]
    syncs: SyncFigures | None
    settings: LoaderInfo | None
    loader: LoaderWait | None
    attribution: Attribution
    tree: StageTree
    stages: tuple[StageRow, ...]
    stage_blocks: Mapping[Path, StageBlocks]
    stage_summary: StageSummary | None
    occupancy: Mapping[Path, Occupancy]
    workers: Workers | None
    worker_summaries: tuple[WorkerSummary, ...]
    worker_costs: WorkerCosts | None
    flow: Flow
    use: LoaderUse
    whole: WholeCapture
    loop: Loop
    samples: Samples
    throughput: Throughput | None
    load: HostLoad | None
    growth: tuple[MemoryGrowth, ...]
    operators: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    steady: SteadyState | None = None
    restarts: tuple[Restarts, ...] = ()
    looks: Looks | None = None
    started_again: tuple[StartedAgain, ...] = ()
    remade: Remade | None = None
    doubts: tuple[Doubt, ...] = ()
    limits: ThreadLimits | None = None
    lines: HotLines | None = None
    replayed_samples: tuple[ReplayedSample, ...] = ()
    stage_details: tuple[StageDetail, ...] = ()
    selection: StepSelection | None = None
    queue_wait: QueueWait | None = None
    profiler_weight: ProfilerWeight | None = None
    stage_weights: Mapping[Path, StageWeight] = field(default_factory=dict)
    for_others: Mapping[Path, int] = field(default_factory=dict)
    headspace: Headspace | None = None
    uneven: UnevenBatches | None = None
    named: NamedLoader | None = None
