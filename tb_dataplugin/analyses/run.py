"""Runs every analysis, each on what those before it found.

An analysis that cannot know returns `Unavailable`. Here, and nowhere else, that becomes None beside its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tb_dataplugin.analyses.apart import NOTHING, Apart, find_apart
from tb_dataplugin.analyses.attribution import attribute
from tb_dataplugin.analyses.chains import ChainFinder
from tb_dataplugin.analyses.collector import are_few
from tb_dataplugin.analyses.copies import find_copies
from tb_dataplugin.analyses.device_idle import DeviceIdle, find_device_idle
from tb_dataplugin.analyses.doubts import find_doubts
from tb_dataplugin.analyses.fed_queue import find_fed_queue
from tb_dataplugin.analyses.flow import TORCHS_PREFETCH, EpochStart, Flow, WorkerFlow, find_worker_flow
from tb_dataplugin.analyses.gaps import Gap, list_all_gaps
from tb_dataplugin.analyses.head_of_line import waits_for_unfinished
from tb_dataplugin.analyses.headspace import Headspace, find_headspace
from tb_dataplugin.analyses.host_load import find_host_load
from tb_dataplugin.analyses.hot_lines import HotLines, find_hot_lines, lines_at
from tb_dataplugin.analyses.inner_loops import find_inner_loops, without_inner_loops
from tb_dataplugin.analyses.line_hits import ForOthers
from tb_dataplugin.analyses.loader_use import LoaderUse, find_loader_use
from tb_dataplugin.analyses.loader_wait import find_loader_wait
from tb_dataplugin.analyses.looks import find_looks
from tb_dataplugin.analyses.loop import Loop, find_loop
from tb_dataplugin.analyses.memory_growth import find_memory_growth
from tb_dataplugin.analyses.named_loader import find_named_loader
from tb_dataplugin.analyses.notes import collect_notes
from tb_dataplugin.analyses.occupancy import find_occupancies
from tb_dataplugin.analyses.other_loaders import name_other_loaders
from tb_dataplugin.analyses.profiler_weight import find_profiler_weight
from tb_dataplugin.analyses.program import find_operators
from tb_dataplugin.analyses.queue_wait import find_queue_wait
from tb_dataplugin.analyses.remade import find_remade
from tb_dataplugin.analyses.replayed_samples import find_replayed_samples
from tb_dataplugin.analyses.restarts import Restarts, find_restarts
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.samples import find_samples
from tb_dataplugin.analyses.sawtooth import Sawtooth, find_rhythm, find_sawtooth, is_once_an_epoch, with_batches
from tb_dataplugin.analyses.slow_calls import Calls
from tb_dataplugin.analyses.slow_rhythm import with_slow_samples
from tb_dataplugin.analyses.slow_turns import with_slow_turns
from tb_dataplugin.analyses.stage_blocks import find_stage_blocks
from tb_dataplugin.analyses.stage_details import find_stage_details
from tb_dataplugin.analyses.stage_summary import find_stage_places, summarise_stages
from tb_dataplugin.analyses.stage_weight import find_stage_weights
from tb_dataplugin.analyses.stages import StageTree, build_stage_tree, count_calls, tabulate_stages
from tb_dataplugin.analyses.started_again import find_started_again
from tb_dataplugin.analyses.steady_state import find_steady_state
from tb_dataplugin.analyses.step_calls import in_step
from tb_dataplugin.analyses.step_table import StepTable, tabulate_steps
from tb_dataplugin.analyses.steps import Steps, StepSelection, find_steps, only
from tb_dataplugin.analyses.syncs import find_syncs
from tb_dataplugin.analyses.thread_limits import find_thread_limits
from tb_dataplugin.analyses.throughput import Throughput, find_throughput, main_loader, with_code_around
from tb_dataplugin.analyses.uneven_batches import find_uneven_batches
from tb_dataplugin.analyses.wait_parts import COLLECTOR
from tb_dataplugin.analyses.whole_capture import WholeCapture, find_recorded_wait, find_whole_capture
from tb_dataplugin.analyses.worker_costs import find_worker_costs
from tb_dataplugin.analyses.worker_summary import summarise_workers
from tb_dataplugin.analyses.workers import BatchTimes, Workers, find_workers
from tb_dataplugin.analyses.wrapper_rows import with_wrapper_paths, with_wrappers
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import EMPTY, Intervals, Window
from tb_dataplugin.model.trace import LoaderInfo, Trace
from tb_dataplugin.options import AnalysisOptions

Known = TypeVar("Known")


class _Reasons:
    """Collects why something cannot be known."""

    def __init__(self) -> None:
        self.missing: dict[str, Unavailable] = {}

    def known(self, name: str, result: Known | Unavailable) -> Known | None:
        """The result; None for an Unavailable, whose reason is kept under `name`."""
        if isinstance(result, Unavailable):
            self.missing[name] = result
            return None
        return result


def _steps(trace: Trace, options: AnalysisOptions) -> Steps | Unavailable:
    steps = find_steps(trace)
    return steps if isinstance(steps, Unavailable) or options.steps is None else only(steps, options.steps)


@dataclass(frozen=True, slots=True)
class _Whole:
    """Of the whole window: `loop` with nothing told apart yet. `capture`: of all steps."""

    tree: StageTree
    steps: Steps | None
    devices: tuple[DeviceIdle, ...]
    workers: Workers | None
    loop: Loop
    capture: WholeCapture
    use: LoaderUse

    @property
    def batches(self) -> BatchTimes | None:
        return self.workers.batches if self.workers else None


def _find_whole(
    trace: Trace, window: Window, options: AnalysisOptions, reasons: _Reasons, selection: StepSelection | None
) -> _Whole:
    tree, steps = build_stage_tree(trace), reasons.known("steps", _steps(trace, options))
    tree = replace(tree, chosen=window) if selection else tree
    devices = reasons.known("devices", find_device_idle(trace, window)) or ()
    loader = reasons.known("loader", find_loader_wait(trace, window, devices))
    recorded = find_recorded_wait(trace, selection) if selection else loader
    workers = reasons.known("workers", find_workers(trace, window, loader, recorded))
    batches = workers.batches if workers else None
    capture = find_whole_capture(trace, window, steps, recorded, batches, selection)
    use = find_loader_use(trace, steps, loader, batches, capture.use) if selection else capture.use
    attribution = attribute(trace, tree, loader, devices, workers)
    attribution = name_other_loaders(attribution, trace, tree, devices, use.certain)
    inside, wait_by_span = tree.starts_in(window), attribution.wait_by_span_ns
    stages = reasons.known("stages", tabulate_stages(tree, trace.span_facts, inside, wait_by_span)) or ()
    stages = with_wrappers(stages, trace, window, attribution.wrapped)
    costs = reasons.known("costs", find_worker_costs(trace, tree, window))
    limits = reasons.known("limits", find_thread_limits(trace, window, loader, attribution, workers, costs))
    occupancy = find_occupancies(trace, window, tree, stages, costs)
    loop = Loop(NOTHING, window.duration_ns, loader, attribution, stages, costs, limits, occupancy)
    return _Whole(tree, steps, devices, workers, loop, capture, use)


def _gaps(trace: Trace, seen: _Whole, most: int) -> tuple[tuple[Gap, ...], ...]:
    attribution = seen.loop.attribution
    pairs = zip(seen.devices, attribution.devices, strict=True)
    by_stage = attribution.by_stage
    chains = [ChainFinder(trace, seen.tree, seen.loop.loader, seen.workers, *pair, by_stage) for pair in pairs]
    return list_all_gaps(chains, seen.steps, most)


def _apart(
    trace: Trace,
    window: Window,
    seen: _Whole,
    use: LoaderUse,
    whole: WholeCapture,
    restarts: tuple[Restarts, ...],
) -> Apart:
    """What is not the training loop's: other loaders, starts and ends of epochs, and few collections of garbage."""
    loader, attribution = seen.loop.loader, seen.loop.attribution
    pauses = attribution.by_stage.get(COLLECTOR, EMPTY) if are_few(trace, seen.tree, window) else EMPTY
    shutdown, workers = attribution.shutdown, seen.workers
    return find_apart(trace, seen.tree, window, loader, use, whole, shutdown, pauses, workers, seen.steps, restarts)


def _worker_flow(
    trace: Trace, window: Window, workers: Workers | None, loop: Loop, use: LoaderUse
) -> WorkerFlow | None:
    loaders, number = trace.info.pipeline.loaders if trace.info.pipeline else (), use.in_workers
    prefetch = (loaders[number].prefetch_factor if number < len(loaders) else None) or TORCHS_PREFETCH
    return find_worker_flow(
        workers, window, loop.waits, loop.apart.idle, number, prefetch, loop.apart.batches, loop.apart.ahead
    )


def _lines(
    trace: Trace, seen: _Whole, loop: Loop, options: AnalysisOptions, window: Window, selection: StepSelection | None
) -> HotLines | Unavailable:
    loader, attribution = seen.loop.loader, seen.loop.attribution
    paths = with_wrapper_paths(seen.tree, attribution.wrapped)
    apart, whole = loop.apart, options.whole_stacks
    others = ForOthers(apart.for_others, apart.between.minus(apart.between_epochs), apart.between)
    return find_hot_lines(trace, paths, window, loader, seen.devices, attribution, others, whole, selection)


def _of_stages(trace: Trace, window: Window, seen: _Whole, apart: Apart, table: StepTable | None) -> dict[str, Any]:
    """Fields of `Results` about the stages of the whole window."""
    tree, loop = seen.tree, seen.loop
    here = tree.starts_in(window)
    weight = find_profiler_weight(trace, window, table, loop.loader)
    return {
        "stages": loop.stages,
        "stage_blocks": find_stage_blocks(tree, trace.span_facts, window, seen.steps, apart.left(here)),
        "for_others": count_calls(tree, here & apart.for_others) if len(apart.for_others) else {},
        "profiler_weight": weight,
        "stage_weights": find_stage_weights(trace, tree, here, weight, len(table.rows) if table else 0),
        "stage_summary": summarise_stages(loop.stages, find_stage_places(trace, tree, here)),
        "occupancy": loop.occupancy,
    }


def _headspace(
    trace: Trace,
    settings: LoaderInfo | None,
    table: StepTable | None,
    devices: tuple[DeviceIdle, ...],
    rates: Throughput | None,
) -> Headspace | None:
    headspace = trace.info.pipeline.headspace if trace.info.pipeline else None
    return find_headspace(
        headspace, settings, table, devices, rates.samples if rates and rates.item != "batch" else None
    )


def run_analyses(
    trace: Trace, window: Window, options: AnalysisOptions, selection: StepSelection | None = None
) -> Results:
    """`window` is that of `options.steps` where these are given; `selection` says so in the results."""
    why = _Reasons()
    seen = _find_whole(trace, window, options, why, selection)
    tree, steps, devices, workers, loader = seen.tree, seen.steps, seen.devices, seen.workers, seen.loop.loader
    whole, use = seen.capture, seen.use
    settings, restarts = main_loader(trace, use), find_restarts(trace, window, loader, use, whole, steps)
    apart = _apart(trace, window, seen, use, whole, restarts)
    loop = find_loop(trace, tree, window, workers, seen.loop, apart)
    flow = Flow(_worker_flow(trace, window, workers, loop, use), whole.starts_in(window))
    table = None if steps is None else tabulate_steps(steps, loader, devices, seen.loop.attribution, apart)
    fed = find_fed_queue(trace, window, workers.batches.table if workers else None, use.in_workers)
    looks, shutdown = find_looks(trace, window, loader, use, whole, steps), seen.loop.attribution.shutdown
    rates = why.known("throughput", find_throughput(trace, tree, window, loader, devices, workers, use, loop))
    lines = why.known("lines", _lines(trace, seen, loop, options, window, selection))
    results = Results(
        trace=trace,
        window=window,
        steps=table,
        sawtooth=_rhythm(table, settings, apart, whole.starts_in(window), seen.batches, use) if table else None,
        devices=devices,
        gaps=_gaps(trace, seen, options.max_gaps),
        copies=find_copies(trace, window, devices),
        syncs=find_syncs(trace, window, devices, seen.loop.attribution.devices),
        settings=settings,
        loader=loader,
        attribution=seen.loop.attribution,
        tree=tree,
        **_of_stages(trace, window, seen, apart, table),
        workers=workers,
        worker_summaries=summarise_workers(workers, window, loader, use) if workers else (),
        worker_costs=seen.loop.costs,
        flow=flow,
        use=use,
        whole=whole,
        loop=loop,
        restarts=restarts,
        looks=looks,
        started_again=find_started_again(trace, window, loader, use, seen.batches, steps, shutdown, looks, restarts),
        remade=find_remade(trace, use),
        steady=None if restarts else find_steady_state(table, workers, flow, window, use, apart, fed),
        samples=find_samples(Calls(trace, tree, lines), window, loader, use, apart.spans if apart else None),
        throughput=rates,
        load=why.known("load", find_host_load(trace, window)),
        growth=find_memory_growth(trace, window),
        operators=find_operators(trace, window, loader),
        limits=seen.loop.limits,
        replayed_samples=find_replayed_samples(trace, tree, lines_at(trace, tree, seen.loop.attribution, window)),
        selection=selection,
        queue_wait=find_queue_wait(trace, window) if loader is None else None,
        headspace=_headspace(trace, settings, table, devices, rates),
        lines=lines,
        uneven=find_uneven_batches(trace, tree, table, loop, use, seen.batches),
        named=find_named_loader(trace, tree, window, loader, workers, use, loop),
    )
    return _completed(results, why.missing)


def _rhythm(
    table: StepTable,
    settings: LoaderInfo | None,
    apart: Apart,
    starts: tuple[EpochStart, ...],
    batches: BatchTimes | None,
    use: LoaderUse,
) -> Sawtooth | None:
    """`starts`: of epochs, of all loaders."""
    workers = settings.num_workers if settings else None
    unfinished = (
        None if batches is None else waits_for_unfinished(batches.table, batches.wait_start_ns, batches.wait_end_ns)
    )
    found = find_sawtooth(table, workers, unfinished) or find_rhythm(table)
    if found is None or (not found.of_workers and found.period == workers):
        return None
    mine = Intervals.union_of(start.wait for start in starts if not apart.not_mine.intersect(start.wait).total_ns)
    if is_once_an_epoch(found, table, mine):
        return None
    return found if batches is None else with_batches(found, table, batches, use.in_workers)


def _with_code_around(results: Results) -> Throughput | None:
    step, loader = results.lines.step if results.lines else None, results.loader
    if results.throughput is None or step is None or loader is None:
        return results.throughput
    outside = 1 - (loader.waits.total_ns + results.loop.apart.between.total_ns) / results.window.duration_ns
    share = outside * step.iterators.part.share + sum(code.part.share for code in step.around)
    return with_code_around(results.throughput, share, results.window)


def _completed(results: Results, missing: Mapping[str, Unavailable]) -> Results:
    """With what follows from the other results: stages in depth, notes, doubts."""
    own = in_step(results.trace, results.tree, results.loader)
    details = find_stage_details(results.trace, results.tree, results.window, results.lines, own)
    rhythm = with_slow_turns(results, with_slow_samples(results))
    rhythm = without_inner_loops(rhythm, find_inner_loops(results))
    results = replace(results, stage_details=details, throughput=_with_code_around(results), sawtooth=rhythm)
    results = replace(results, diagnostics=tuple(collect_notes(results, missing)))
    return replace(results, doubts=find_doubts(results))
