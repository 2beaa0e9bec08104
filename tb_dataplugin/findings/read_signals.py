"""From results to signals: nanoseconds become microseconds here, and the first device is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from tb_dataplugin.analyses.attribution import DeviceAttribution
from tb_dataplugin.analyses.built_beside import BuiltBeside, find_built_beside
from tb_dataplugin.analyses.collector import FEW, full_collections
from tb_dataplugin.analyses.copies import CopyFigures
from tb_dataplugin.analyses.fed_loop import is_fed
from tb_dataplugin.analyses.flow import WorkerFlow
from tb_dataplugin.analyses.hot_lines import ALMOST_ALL
from tb_dataplugin.analyses.idle_causes import Cause
from tb_dataplugin.analyses.items import Item, item_of
from tb_dataplugin.analyses.kept_loads import find_kept_loads
from tb_dataplugin.analyses.lone_work import LoneWork, find_lone_work
from tb_dataplugin.analyses.other_programs import OtherPrograms, find_other_programs
from tb_dataplugin.analyses.queue_wait import QueueWait
from tb_dataplugin.analyses.recorder_load import RecorderLoad, find_recorder_load
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.shared_lock import find_possible_lock, find_shared_lock
from tb_dataplugin.analyses.slow_rhythm import find_leading_rhythm
from tb_dataplugin.analyses.smoothing import Smoothing
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.step_lines import FEWEST_STEPS
from tb_dataplugin.analyses.syncs import SyncFigures
from tb_dataplugin.analyses.taken_cpus import TakenCpus, beside_training_thread, find_taken_cpus
from tb_dataplugin.analyses.thread_limits import Limits
from tb_dataplugin.analyses.throughput import count_loaders
from tb_dataplugin.analyses.uneven_batches import UnevenBatches
from tb_dataplugin.analyses.unfollowed import unfollowed_workers
from tb_dataplugin.findings.apart_signals import ApartSignals, cost_us, left_out, read_apart
from tb_dataplugin.findings.beside_signals import BesideSignals, drawn_cost, read_beside
from tb_dataplugin.findings.detail_texts import slow_kind_text
from tb_dataplugin.findings.device_signals import CopySignals, IdleSignals, SyncSignals
from tb_dataplugin.findings.foresight import Foresight
from tb_dataplugin.findings.garbage_signals import Collections, GarbageSignals
from tb_dataplugin.findings.line_signals import HotLine, PatternSignal, StepSignals, hottest, read_patterns, read_step
from tb_dataplugin.findings.line_texts import line_text, part_text
from tb_dataplugin.findings.lone_gaps import read_lone_gaps
from tb_dataplugin.findings.look_signals import read_looks
from tb_dataplugin.findings.rank_signals import read_ranks
from tb_dataplugin.findings.read_calls import read_calls, read_in_step
from tb_dataplugin.findings.read_lock import read_lock
from tb_dataplugin.findings.read_waits import read_waits
from tb_dataplugin.findings.restart_signals import read_restarts
from tb_dataplugin.findings.sample_signals import read_habits, read_slow_samples
from tb_dataplugin.findings.signals import FEEDER, Signals
from tb_dataplugin.findings.stage_lines import stage_lines
from tb_dataplugin.findings.started_signals import read_started
from tb_dataplugin.findings.thresholds import LONG_PAUSE_US
from tb_dataplugin.findings.uneven_signals import UnevenSignals
from tb_dataplugin.findings.unrecorded import find_unrecorded_wait
from tb_dataplugin.findings.waste import read_waste
from tb_dataplugin.findings.worker_signals import PaceSignals, PartsSignals, SmoothingSignals, WorkerSignals
from tb_dataplugin.model.intervals import EMPTY, Intervals
from tb_dataplugin.model.trace import HostInfo, PipelineInfo


class _OfProfiler(TypedDict):
    profiler_us: float
    slows_launches: bool


class _OfCpus(TypedDict):
    taken: TakenCpus | None
    beside_training_thread: float | None
    other_programs: OtherPrograms | None
    unfollowed_workers: int | None
    recorder: RecorderLoad | None


class _OfSteps(TypedDict):
    replays_named: bool
    step_count: int | None
    has_later_steps: bool
    of_some_steps: bool
    lone_work: LoneWork | None
    item: Item


class _OfQueue(TypedDict):
    is_fed: bool
    queue_wait: QueueWait | None
    built_beside: BuiltBeside | None


class _OfLines(TypedDict):
    stage_places: Mapping[str, str]
    stage_lines: Mapping[str, HotLine]
    stages_without_lines: Mapping[str, str]
    training_lines: Mapping[str, HotLine]
    feeder_us: float
    step: StepSignals | None
    patterns: tuple[PatternSignal, ...]


def read_signals(results: Results) -> Signals:
    loop, flow, pipeline, loader = results.loop, results.flow, results.trace.info.pipeline, results.loop.loader
    apart, beside, (steady, hidden) = read_apart(results), read_beside(results), _unsteady(results)
    cost, foresight = _wait_cost(results, beside), Foresight(results, apart.repeated_names if apart else "")
    return Signals(
        mode=results.trace.info.mode,
        window_us=_us(results.window.duration_ns),
        **_of_steps(results),
        mean_step_us=_mean_step(results, apart),
        idle=_idle(results),
        data_wait_us=_us(loader.waits.total_ns) if loader else None,
        exposed_wait_us=None if loader is None or loader.exposed_ns is None else _us(loader.exposed_ns),
        wait_cost_us=_steady_cost(cost, hidden),
        measured_cost_us=cost,
        loop_us=_us(loop.time_ns) + hidden,
        unsteady=steady if steady and steady.wait and not steady.is_as_measured else None,
        wait_may_exceed=_may_exceed(results.steady),
        apart=apart,
        beside=beside,
        wait_count=0 if loader is None else len(loader.duration_ns),
        head_of_line_us=_flow_us(results, flow.workers.head_of_line if flow.workers else EMPTY),
        on_way_us=_flow_us(results, flow.workers.on_way if flow.workers else EMPTY),
        waits_by_stage=read_waits(results, cost, hidden),
        stages=tuple(read_calls(results)),
        stages_in_step=read_in_step(results),
        slow_samples=read_slow_samples(results),
        sample_habits=read_habits(results),
        slow_kinds={one.stage.name: text for one in results.stage_details if (text := slow_kind_text(one))},
        loader=results.settings,
        ranks=read_ranks(results),
        has_several_loaders=count_loaders(results.trace, results.use) > 1,
        waste=read_waste(results),
        host=pipeline.host if pipeline else HostInfo(),
        worker_processes=pipeline.workers if pipeline else (),
        workers=_workers(flow.workers, left_out(apart)) if flow.workers else None,
        costs=loop.costs,
        load=results.load,
        throughput=results.throughput,
        copies=_copies(results.copies[0], results) if results.copies and results.copies[0] else None,
        syncs=_syncs(results.syncs) if results.syncs else None,
        doubts=results.doubts,
        **_of_profiler(results),
        unrecorded_wait=find_unrecorded_wait(results, foresight),
        lock=read_lock(loop.limits, results.lines) if loop.limits else None,
        **_of_lines(results),
        **_of_queue(results),
        **_of_cpus(results),
        rhythm=find_leading_rhythm(results),
        garbage=_garbage(results),
        shared_lock=find_shared_lock(results),
        possible_lock=line_text(possible) if (possible := find_possible_lock(results)) else "",
        kept_loads=find_kept_loads(results),
        foresight=foresight,
        drawn_us=drawn_cost(results),
        restarts=read_restarts(results),
        looks=read_looks(results),
        started_again=read_started(results),
        uneven=_uneven(results.uneven),
        remade=results.remade,
    )


def _of_cpus(results: Results) -> _OfCpus:
    return {
        "taken": find_taken_cpus(results),
        "beside_training_thread": beside_training_thread(results),
        "other_programs": find_other_programs(results),
        "unfollowed_workers": unfollowed_workers(results),
        "recorder": find_recorder_load(results),
    }


def _of_steps(results: Results) -> _OfSteps:
    chosen, table = results.selection, results.steps
    return {
        "replays_named": bool(results.replayed_samples),
        "step_count": len(table.rows) if table else None,
        "has_later_steps": chosen is not None and chosen.chosen.last < chosen.recorded.last,
        "of_some_steps": chosen is not None,
        "item": item_of(results.trace, results.use.main),
        "lone_work": find_lone_work(table) if table else None,
    }


def _of_queue(results: Results) -> _OfQueue:
    """Where another thread takes the batches, or builds them."""
    fed = results.loader is None and is_fed(results.trace, results.window)
    return {"is_fed": fed, "queue_wait": results.queue_wait, "built_beside": find_built_beside(results)}


def _of_lines(results: Results) -> _OfLines:
    lines, pipeline = results.lines, results.trace.info.pipeline
    return {
        "stage_places": dict(pipeline.stages_at) if pipeline else {},
        "stage_lines": dict(stage_lines(results)),
        "stages_without_lines": dict(_without_lines(results)),
        "training_lines": dict(_training_lines(results)),
        "feeder_us": _us(lines.feeder.time_ns) if lines and lines.feeder else 0.0,
        "step": read_step(lines),
        "patterns": read_patterns(lines),
    }


def _of_profiler(results: Results) -> _OfProfiler:
    weight = results.profiler_weight
    return {
        "profiler_us": 0.0 if weight is None or not weight.is_noticed else weight.most_profiler_us,
        "slows_launches": bool(results.devices) and (weight is None or not weight.before),
    }


def _flow_us(results: Results, waits: Intervals) -> float:
    """As much of these waits as counts for the first device."""
    return cost_us(next(iter(results.attribution.devices), None), (waits,))


def _wait_cost(results: Results, beside: BesideSignals | None) -> float | None:
    """Of the loop's data wait: idle time that it caused; without a device all of it. Without another DataLoader's."""
    loop = results.loop
    if results.attribution.devices:
        cost = _causes(loop.attribution.devices[0]).get("data_wait")
    else:
        cost = _us(loop.loader.waits.total_ns) if loop.loader else None
    return cost if cost is None or beside is None else max(0.0, cost - beside.cost_us)


def _steady_cost(cost: float | None, hidden: float) -> float | None:
    """Had the window been steady."""
    return None if cost is None else max(0.0, cost + hidden)


def _unsteady(results: Results) -> tuple[SteadyState | None, float]:
    """Where the queues fill or empty through the window; and the data wait that they hide from it."""
    if results.steady is None or results.steady.state not in ("draining", "filling"):
        return None, 0.0
    return results.steady, _hidden_us(results)


def _without_lines(results: Results) -> Iterable[tuple[str, str]]:
    lines = results.lines
    if lines is None:
        return ()
    feeder = () if lines.feeder is None else ((FEEDER, lines.feeder),)
    parts = (*((stage.name, part) for stage, part in lines.serving.items()), *feeder)
    return ((name, text) for name, part in parts if (text := part_text(part)))


def _training_lines(results: Results) -> Iterable[tuple[str, HotLine]]:
    lines = results.lines
    if lines is None:
        return ()
    feeder = () if lines.feeder is None else ((FEEDER, lines.feeder),)
    return hottest((*lines.training.items(), *feeder), in_step=True)


def _idle(results: Results) -> IdleSignals:
    if not results.devices:
        return IdleSignals()
    device = results.attribution.devices[0]
    return IdleSignals(
        total_us=_us(results.devices[0].gaps.total_ns),
        by_cause_us=_causes(device),
        launched_early_us=_us(device.queued_ns),
        long_pauses_us=_long_pauses(device),
        lone=read_lone_gaps(results),
        gap_count=len(device.gap_stage),
        reserve=results.devices[0].reserve,
    )


def _causes(device: DeviceAttribution) -> dict[Cause, float]:
    return {name: _us(time) for name, time in device.by_cause_ns.items()}


def _garbage(results: Results) -> GarbageSignals:
    limits, of_process = results.loop.limits, _all_collecting(results.trace.info.pipeline)
    if limits is None:
        return GarbageSignals(of_process, full=_collections(results))
    return GarbageSignals(of_process, _collecting(limits.data_wait), _collecting(limits.outside), _collections(results))


def _all_collecting(pipeline: PipelineInfo | None) -> float | None:
    thread = pipeline.training_thread if pipeline else None
    return None if thread is None or thread.gc_ns is None else _us(thread.gc_ns)


def _collections(results: Results) -> Collections:
    found = full_collections(results.trace, results.tree).clip(results.window)
    return Collections(len(found), _us(found.total_ns), 0 < len(found) < FEW)


def _collecting(limits: Limits | None) -> float | None:
    return None if limits is None else _us(limits.training.gc_ns)


def _us(time_ns: float) -> float:
    return time_ns / 1e3


def _mean_step(results: Results, apart: ApartSignals | None) -> float | None:
    if results.steps is None:
        return None
    return _us(results.steps.mean_ns) - (apart.time_us / len(results.steps.rows) if apart else 0.0)


def _long_pauses(device: DeviceAttribution) -> float:
    host = device.gap_causes_ns.get("host")
    return 0.0 if host is None else _us(int(host[host >= LONG_PAUSE_US * 1e3].sum()))


def _hidden_us(results: Results) -> float:
    """Data wait that the steady state would have beyond what the window shows; negative where it has less."""
    steady, steps = results.steady, results.steps
    if steady is None or steady.wait is None or steps is None:
        return 0.0
    return _us((steady.wait.value - steady.measured_ns) * len(steps.rows))


def _may_exceed(steady: SteadyState | None) -> float:
    wait = steady.wait if steady else None
    return wait.high / wait.value - 1 if wait and wait.value > 0 else 0.0


def _uneven(uneven: UnevenBatches | None) -> UnevenSignals | None:
    if uneven is None:
        return None
    return UnevenSignals(
        steps=uneven.steps,
        largest=uneven.largest,
        own_us=_us(uneven.own_ns),
        largest_us=_us(uneven.largest_ns),
        usual_bytes=uneven.usual_bytes,
        largest_bytes=uneven.largest_bytes,
        excess_us=_us(uneven.excess_ns),
        padding_us=None if uneven.padding_ns is None else _us(uneven.padding_ns),
        is_grouped=uneven.is_grouped,
    )


def _workers(flow: WorkerFlow, left_out: str) -> WorkerSignals:
    return WorkerSignals(
        workers=flow.workers,
        alive=flow.alive,
        batches=flow.batches,
        busy=flow.busy,
        starved=flow.starved,
        slowest=flow.slowest,
        skew=flow.skew,
        pace=PaceSignals.of(flow.pace) if flow.pace else None,
        parts=PartsSignals.of(flow.parts) if flow.parts else None,
        largest_busy=flow.largest_busy,
        taken_per_built=flow.taken_per_built or 1.0,
        spared=flow.spared,
        slowest_spared=flow.slowest_spared,
        smoothing=_smoothing(flow.smoothing, flow.life_ns) if flow.smoothing else None,
        left_out=left_out,
    )


def _smoothing(found: Smoothing, life_ns: int) -> SmoothingSignals:
    return SmoothingSignals(
        starved=found.starved_ns / life_ns,
        excess_us=found.excess_ns / 1e3,
        median_us=found.median_ns / 1e3,
        p95_us=found.p95_ns / 1e3,
        ahead_us=found.ahead_ns / 1e3,
        paused_us=found.paused_ns / 1e3,
        pauses=found.pauses,
        ahead_most_us=found.ahead_most_ns / 1e3,
        paused_most_us=found.paused_most_ns / 1e3,
    )


def _copies(copies: CopyFigures, results: Results) -> CopySignals:
    return CopySignals(
        count=copies.count,
        pageable=copies.pageable,
        pinned=copies.pinned,
        launched=copies.launched,
        blocking=copies.blocking,
        copy_us=_us(copies.copy_ns),
        overlapped_us=None if copies.overlapped_ns is None else _us(copies.overlapped_ns),
        gigabytes_per_s=copies.gigabytes_per_s,
        one_off=_one_off(results, "h2d"),
    )


def _syncs(syncs: SyncFigures) -> SyncSignals:
    return SyncSignals(syncs.calls, _us(syncs.waited_ns), _us(syncs.drained_ns), syncs.inside)


def _one_off(results: Results, cause: Cause) -> tuple[int, float] | None:
    """Of this cause of idle time, what a single step has; None where it is not nearly all of it."""
    rows = results.steps.rows if results.steps else ()
    times = {row.number: row.idle_by_cause_ns.get(cause, 0) for row in rows}
    most = max(times, key=times.__getitem__, default=None)
    if most is None or len(rows) < FEWEST_STEPS or times[most] < ALMOST_ALL * sum(times.values()) or not times[most]:
        return None
    return most, _us(times[most])
