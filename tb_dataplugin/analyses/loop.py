"""The training loop as it goes on: what the window has of it, without the data wait that is told `apart`.

Verdict, findings and rates are about this. The tables of the report are about the whole window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tb_dataplugin.analyses.apart import Apart
from tb_dataplugin.analyses.attribution import Attribution, DeviceAttribution
from tb_dataplugin.analyses.loader_wait import LoaderWait
from tb_dataplugin.analyses.occupancy import Occupancy, find_occupancies
from tb_dataplugin.analyses.stages import Path, StageRow, StageTree, scaled, tabulate_stages
from tb_dataplugin.analyses.step_calls import Mask, in_step
from tb_dataplugin.analyses.thread_limits import ThreadLimits, find_thread_limits
from tb_dataplugin.analyses.worker_costs import WorkerCosts, find_worker_costs
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.analyses.wrapper_rows import with_wrappers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import Trace


@dataclass(frozen=True, slots=True)
class Loop:
    """As the results of the same names, without what is `apart`. `time_ns` is left of the window. `apart_by_stage_ns`,
    `apart_idle_ns`: what was taken away of the data wait by stage, and of the first device's idle time with that cause.
    `stages`, `occupancy`: of calls that serve the loader; `in_step` has those that the training step makes for itself.
    """

    apart: Apart
    time_ns: int
    loader: LoaderWait | None
    attribution: Attribution
    stages: tuple[StageRow, ...]
    costs: WorkerCosts | None
    limits: ThreadLimits | None
    occupancy: Mapping[Path, Occupancy]
    apart_by_stage_ns: Mapping[str, int] = field(default_factory=dict)
    apart_idle_ns: int | None = None
    in_step: tuple[StageRow, ...] = ()

    @property
    def waits(self) -> Intervals:
        return self.loader.waits if self.loader else EMPTY


def find_loop(
    trace: Trace, tree: StageTree, window: Window, workers: Workers | None, whole: Loop, apart: Apart
) -> Loop:
    """`whole`: of the window, with what is apart, and all calls of stages."""
    if not apart or whole.loader is None:
        return _without_step(trace, tree, window, replace(whole, apart=apart), tree.starts_in(window))
    loader, attribution = _waits(whole.loader, apart), _attribution(whole.attribution, tree, apart)
    counted = apart.left(tree.starts_in(window))
    stages = _table(trace, tree, window, attribution, counted)
    known = find_worker_costs(trace, tree, window, apart.batches if len(apart.batches) else None)
    costs = None if isinstance(known, Unavailable) else known
    limits = find_thread_limits(trace, window, loader, attribution, workers, costs)
    loop = Loop(
        apart=apart,
        time_ns=window.duration_ns - apart.time.total_ns,
        loader=loader,
        attribution=attribution,
        stages=stages,
        costs=costs,
        limits=None if isinstance(limits, Unavailable) else limits,
        occupancy=find_occupancies(trace, window, tree, stages, costs),
        apart_by_stage_ns=_taken_away(whole.attribution.by_stage, apart.waits),
        apart_idle_ns=_idle(whole.attribution, apart.waits),
    )
    return _without_step(trace, tree, window, loop, counted)


def _without_step(trace: Trace, tree: StageTree, window: Window, loop: Loop, counted: Mask) -> Loop:
    """`counted`: the spans that its stages have."""
    own = in_step(trace, tree, loop.loader)
    if not (own & counted).any():
        return loop
    stages = _table(trace, tree, window, loop.attribution, counted & ~own)
    step = tabulate_stages(tree, trace.span_facts, counted & own, None)
    return replace(
        loop,
        stages=stages,
        occupancy=find_occupancies(trace, window, tree, stages, loop.costs),
        in_step=() if isinstance(step, Unavailable) else step,
    )


def _table(
    trace: Trace, tree: StageTree, window: Window, attribution: Attribution, counted: Mask
) -> tuple[StageRow, ...]:
    rows = tabulate_stages(tree, trace.span_facts, counted, attribution.wait_by_span_ns)
    return with_wrappers(() if isinstance(rows, Unavailable) else rows, trace, window, attribution.wrapped)


def _taken_away(by_stage: Mapping[str, Intervals], waits: Intervals) -> dict[str, int]:
    parts = {name: time.intersect(waits).total_ns for name, time in by_stage.items()}
    return {name: time for name, time in parts.items() if time}


def _idle(whole: Attribution, waits: Intervals) -> int | None:
    idle = whole.devices[0].causes.get("data_wait") if whole.devices else None
    return None if idle is None else idle.intersect(waits).total_ns


def _waits(loader: LoaderWait, apart: Apart) -> LoaderWait:
    left = loader.waits.minus(apart.waits)
    exposed = None if loader.exposed is None else loader.exposed.minus(apart.waits)
    durations = left.durations if len(left) else np.zeros(1, dtype=np.int64)
    return replace(loader, waits=left, duration_ns=durations, exposed=exposed, first_batches=None)


def _attribution(whole: Attribution, tree: StageTree, apart: Apart) -> Attribution:
    """Each stage keeps its part of the waits that are left. What a span caused is scaled to that: which of its waits
    are left is not known span by span.
    """
    waits = apart.waits
    left = {name: time.minus(waits) for name, time in whole.by_stage.items()}
    by_stage = {name: time.total_ns for name, time in left.items() if time.total_ns}
    by_span = whole.wait_by_span_ns
    return replace(
        whole,
        by_stage=left,
        wait_by_stage_ns=None if whole.wait_by_stage_ns is None else by_stage,
        wait_by_span_ns=None if by_span is None else scaled(np.where(apart.spans, 0, by_span), tree, by_stage),
        devices=tuple(_of_device(device, waits, left) for device in whole.devices),
        wrapped={label: time.minus(waits) for label, time in whole.wrapped.items()},
        shutdown=whole.shutdown.minus(waits),
    )


def _of_device(device: DeviceAttribution, apart: Intervals, by_stage: Mapping[str, Intervals]) -> DeviceAttribution:
    waited = device.causes.get("data_wait")
    if waited is None:
        return device
    waited = waited.minus(apart)
    parts = {name: time.intersect(waited).total_ns for name, time in by_stage.items()}
    return replace(
        device,
        causes={**device.causes, "data_wait": waited},
        by_stage_ns={name: time for name, time in parts.items() if time},
    )
