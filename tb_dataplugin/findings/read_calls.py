"""From the stage table to signals about calls: nanoseconds become microseconds here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tb_dataplugin.analyses.begun_before import BegunBefore, find_begun_before
from tb_dataplugin.analyses.collector import collected_by_stage
from tb_dataplugin.analyses.exceptional_calls import ExceptionalCalls, exceptional_decodes
from tb_dataplugin.analyses.first_calls import first_of_long
from tb_dataplugin.analyses.inputs import Inputs, find_inputs
from tb_dataplugin.analyses.long_call_lines import lines_of_long_calls
from tb_dataplugin.analyses.making import by_path, self_ns_in
from tb_dataplugin.analyses.occupancy import Occupancy
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.slow_calls import Calls
from tb_dataplugin.analyses.stage_weight import WORTH_A_WORD
from tb_dataplugin.analyses.stages import Path, StageRow
from tb_dataplugin.analyses.step_calls import in_step
from tb_dataplugin.analyses.worker_collections import collected_by_span, collecting_by_stage, without_collections
from tb_dataplugin.findings.line_signals import HotLine, hottest
from tb_dataplugin.findings.sequence import find_beside
from tb_dataplugin.findings.stage_signals import CpuUse, Exceptions, StageCalls


def read_in_step(results: Results) -> tuple[StageCalls, ...]:
    """The training step's own."""
    return tuple(_calls(row, None, 0) for row in results.loop.in_step)


def read_calls(results: Results) -> Iterator[StageCalls]:
    """Those for the loader."""
    calls = tuple(_for_loader(results))
    inputs = find_inputs(results.tree, results.trace.span_facts, find_beside(calls))
    for row in calls:
        yield replace(row, inputs=inputs.get(row.path, Inputs()))


def _for_loader(results: Results) -> Iterator[StageCalls]:
    collected = collected_by_stage(results.trace, results.tree, results.window)
    slowest, (in_thread, thread_wait) = _in_slowest(results), _in_thread(results)
    counted = results.loop.apart.left(results.tree.starts_in(results.window))
    first, before = first_of_long(results.trace, results.tree, counted), begun_before(results)
    waited = results.loop.attribution.wait_by_span_ns
    in_workers, collecting = _collected_in_workers(results), collecting_by_stage(results.trace, results.tree, counted)
    exceptions = exceptional_decodes(results.tree, results.trace.span_facts, counted, waited)
    long_lines = _long_lines(results)
    for row in results.loop.stages:
        taken, longest_ns = in_workers.get(row.path, (0, None))
        calls = _calls(row, results.loop.occupancy.get(row.path), collected.get(row.path, 0) + taken)
        of_stage = collecting.get(row.path[-1])
        calls = replace(
            calls,
            longest_us=None if longest_ns is None else _us(longest_ns),
            collecting=of_stage.share if of_stage else 0.0,
            long_first=first.get(row.path, 1.0),
            long_line=long_lines.get(row.path),
            in_slowest_us=_us(slowest.get(row.path, 0)),
            in_thread_us=_us(in_thread.get(row.path, 0)),
            thread_wait_us=_us(thread_wait.get(row.path, 0)),
            before=before.get(row.path),
            exceptions=_exceptions(exceptions.get(row.path)),
        )
        weight = results.stage_weights.get(row.path)
        if weight is not None and weight.unknown:
            calls = replace(calls, unknown=weight.unknown)
        elif weight is not None and weight.share >= WORTH_A_WORD:
            operators, spans = weight.named
            unprobed, least = weight.operators is None, weight.least_share
            calls = replace(calls, profiler_share=least, operators=operators, spans=spans, is_unprobed=unprobed)
        yield calls


def _long_lines(results: Results) -> Mapping[Path, HotLine]:
    """Also of calls that began before the window, as far as they lie in it."""
    if results.lines is None:
        return {}
    tree, window = results.tree, results.window
    overlap = (tree.start_ns < window.end_ns) & (tree.end_ns > window.start_ns)
    lines = lines_of_long_calls(results.trace, tree, results.lines, results.loop.apart.left(overlap))
    return {path: line for path, part in lines for _, line in hottest(((path[-1].name, part),))}


def _collected_in_workers(results: Results) -> Mapping[Path, tuple[int, int]]:
    counted = results.loop.apart.left(results.tree.starts_in(results.window))
    return without_collections(results.tree, counted, collected_by_span(results.trace, results.tree))


def begun_before(results: Results) -> Mapping[Path, BegunBefore]:
    """Of the training loop."""
    calls, apart = Calls(results.trace, results.tree, results.lines), results.loop.apart
    waited = results.loop.attribution.wait_by_span_ns
    return find_begun_before(calls, results.window, waited, apart.spans if apart else None)


def _in_slowest(results: Results) -> Mapping[Path, int]:
    """Self time of the loop's stages in the DataLoader worker that all wait for (`limiting_worker`); or empty."""
    flow = results.flow.workers
    if flow is None or (flow.parts is None and flow.pace is None):
        return {}
    slowest = flow.parts.largest if flow.parts else flow.pace.slowest if flow.pace else 0
    counted = results.loop.apart.left(results.tree.starts_in(results.window))
    return self_ns_in(results.trace, results.tree, counted, results.use.in_workers, slowest)


def _in_thread(results: Results) -> tuple[Mapping[Path, int], Mapping[Path, int]]:
    """Of the loop's stages, the self time in the training thread, and the data wait that this caused."""
    tree, trace = results.tree, results.trace
    mine = (tree.track == trace.training_track) & ~in_step(trace, tree, results.loop.loader)
    counted, waited = results.loop.apart.left(tree.starts_in(results.window)), results.loop.attribution.wait_by_span_ns
    return by_path(tree, mine & counted, tree.self_ns), {} if waited is None else by_path(tree, mine, waited)


def _calls(row: StageRow, spent: Occupancy | None, collected_ns: int) -> StageCalls:
    return StageCalls(
        path=row.path,
        count=row.count,
        total_us=_us(row.total_ns),
        self_us=_us(row.self_ns),
        p50_us=_us(row.p50_ns),
        max_us=_us(row.max_ns),
        data_wait_us=None if row.data_wait_ns is None else _us(row.data_wait_ns),
        long_wait_us=None if row.long_wait_ns is None else _us(row.long_wait_ns),
        bytes=row.bytes,
        sizes=row.sizes,
        place=row.place,
        per_sample=row.per_sample,
        cpu_use=_cpu_use(spent) if spent else None,
        collected_us=_us(collected_ns),
        has_index=row.has_index,
    )


def _exceptions(calls: ExceptionalCalls | None) -> Exceptions | None:
    return None if calls is None else Exceptions(calls.calls, _us(calls.self_ns), _us(calls.wait_ns))


def _cpu_use(spent: Occupancy) -> CpuUse:
    return CpuUse(_us(spent.cpu_ns), _us(spent.run_delay_ns or 0), _us(spent.blocked_ns or 0), spent.limited_by)


def _us(time_ns: float) -> float:
    return time_ns / 1e3
