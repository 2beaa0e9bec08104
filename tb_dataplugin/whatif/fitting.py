"""From what the analyses found in one capture to the loop that a simulation runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np

from tb_dataplugin.analyses.collectives import share_in_collectives
from tb_dataplugin.analyses.inner_loops import find_inner_loops
from tb_dataplugin.analyses.kept_loads import find_kept_loads
from tb_dataplugin.analyses.lifetimes import known
from tb_dataplugin.analyses.lock_time import locked_share
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampling_cost import sampling_cpus
from tb_dataplugin.analyses.shared_lock import find_possible_lock, find_shared_lock
from tb_dataplugin.analyses.step_batches import step_batches
from tb_dataplugin.analyses.step_calls import in_step
from tb_dataplugin.analyses.taken_cpus import delayed_share, passing_cpus, step_threads, training_costs, waits_cpu_ns
from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.analyses.workers import Workers
from tb_dataplugin.analyses.wrapper_rows import path_of
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.model.intervals import Int64Array, Intervals, int64
from tb_dataplugin.model.trace import LoaderInfo
from tb_dataplugin.whatif.as_measured import as_measured
from tb_dataplugin.whatif.device_use import find_device_use
from tb_dataplugin.whatif.epochs import counts_starts, find_epochs
from tb_dataplugin.whatif.inner_loops import as_it_steps, find_lone_step, only_steps, without_lone_step
from tb_dataplugin.whatif.loop import Floats, Loop, Rows, Settings, StepParts, Timed
from tb_dataplugin.whatif.measured_wait import find_wait_ends
from tb_dataplugin.whatif.memory import find_batch_bytes, find_worker_bytes
from tb_dataplugin.whatif.on_cpu import find_on_cpu, find_result_bytes
from tb_dataplugin.whatif.other_stages import find_other_stages, other_loaders
from tb_dataplugin.whatif.own_share import find_own_share
from tb_dataplugin.whatif.pauses import find_pauses
from tb_dataplugin.whatif.per_step import Counted, mean_wait_ns, outside_waits_ns, pageable_ns, samples_per_step
from tb_dataplugin.whatif.predictable import why_unpredictable
from tb_dataplugin.whatif.received import find_received
from tb_dataplugin.whatif.stage_parts import NO_STAGE, parts_within
from tb_dataplugin.whatif.taken_ahead import find_taken, kept_ahead

TORCHS_PREFETCH: Final = 2
"""DataLoader's own default per worker."""

MOST_DELAYED: Final = 0.99

ALMOST: Final = 0.2
"""By how much a thread that always wants a CPU may seem to want less than one."""


class _Dealing(TypedDict):
    built_by: tuple[int, ...]
    differ: bool
    own_parts: bool


@dataclass(frozen=True, slots=True)
class _Cpus:
    """CPUs in use while none was waited for, and the share of the time in which one was."""

    used: float
    delayed: float

    @property
    def slowed(self) -> float:
        """How much longer what needs a CPU took for waiting."""
        on_cpu = max(1e-3, min(1.0, self.used))
        return 1.0 + self.delayed / ((1.0 - self.delayed) * on_cpu)

    @classmethod
    def of(cls, cpu_ns: float, time_ns: float, delayed: float) -> _Cpus:
        """Of a thread that had so much CPU time in that time."""
        delayed = min(MOST_DELAYED, delayed)
        return cls(min(1.0, cpu_ns / (time_ns * (1 - delayed))), delayed)


def fit_loop(results: Results) -> Loop | Unavailable:
    """The loop of the capture's main loader; Unavailable without steps, the data wait, or who built the batches."""
    if why := why_unpredictable(results):
        return _cannot(why)
    loop = _found(results)
    return loop if isinstance(loop, Unavailable) else as_measured(loop)


def _found(results: Results) -> Loop | Unavailable:
    """Without what the simulation misses of what was measured."""
    if inner := find_inner_loops(results):
        results = only_steps(results, inner.steps)
        loop = _fit(results)
        return loop if isinstance(loop, Unavailable) else as_it_steps(loop, results, inner)
    if (lone := find_lone_step(results)) and results.steps:
        loop = _fit(only_steps(results, (lone.step,)), counted=len(results.steps.rows))
        return loop if isinstance(loop, Unavailable) else without_lone_step(loop, lone)
    return _fit(results)


def _fit(results: Results, counted: int = 0) -> Loop | Unavailable:
    """`counted`: the steps that the window's batches and samples were counted over, if not those of `results`."""
    workers = results.workers if results.settings and results.settings.num_workers else None
    counted = counted or (len(results.steps.rows) if results.steps else 0)
    return _without_workers(results, counted) if workers is None else _with_workers(results, workers, counted)


def _cannot(why: str) -> Unavailable:
    return Unavailable("throughput", "no_prediction", f"Nothing can be predicted from this capture: {why}")


def _with_workers(results: Results, workers: Workers, counted: int) -> Loop | Unavailable:
    table, settings = workers.batches.table, results.settings
    assert settings is not None
    loader = results.use.in_workers
    rows = np.flatnonzero((table.loader == loader) & known(table.started_ns) & known(table.finished_ns))
    rows = rows[table.finished_ns[rows] > results.window.start_ns]
    rows = rows[~results.loop.apart.batches[rows]] if results.loop.apart else rows
    order, built = _built(results, workers, rows)
    ahead = kept_ahead(results, table)
    taken, itself = find_taken(results, workers.batches, rows, ahead)
    if not len(built) or not len(taken):
        return _cannot("no batch was built, and received, in its window")
    ready = np.where(known(table.serialised_ns), table.serialised_ns, table.finished_ns)
    found = find_received(results, workers, taken, ready, itself)
    received = int(((table.consumed_ns >= results.window.start_ns) & (table.loader == loader)).sum())
    cpus = _worker_cpus(results)
    beside_ns = found.own.ns[:, -1].mean() if ahead else 0.0
    receiving, training = _training_cpus(results, busy_ns=float(found.own.total_ns.mean() - beside_ns) * received)
    receiving = _Cpus(0.0, 0.0) if ahead else receiving  # that thread: as long as it took, with what it waited
    way = np.maximum(0, ready - table.finished_ns)[rows].astype(np.float64)
    send = min(_sending(results), float(way.mean() / built.total_ns.mean()))
    after = float(np.maximum(0, workers.batches.wait_end_ns[taken] - table.consumed_ns[taken]).mean())
    receive, around_ns = (found.own, 0.0) if ahead else _without_around(found.own, after)
    loop = _loop(
        results,
        build=Timed(built.parts, built.ns * (1 - cpus.delayed) * (1 - send)),
        way=way,
        receive=Timed(receive.parts, receive.ns * (1 - receiving.delayed)),
        building=cpus,
        training=training,
        counted=Counted(received, counted),
    )
    parts = results.flow.workers.parts if results.flow.workers else None
    send_ns = float(built.total_ns.mean()) * (1 - cpus.delayed) * send
    around_ns *= 1 - receiving.delayed
    return replace(
        loop,
        built=tuple(zip(table.epoch[order].tolist(), table.number[order].tolist(), strict=True)),
        send_ns=send_ns,
        **_dealing(results, table.worker[order]),
        epochs=find_epochs(results, order),
        whole_epochs=parts is None or parts.whole,
        starts_left_out=bool(results.loop.apart.epochs),
        held_ns=found.held_ns,
        maybe_held_ns=found.maybe_held_ns,
        ahead=ahead,
        around_ns=around_ns,
        receive_cpus=receiving.used,
        receive_delayed=receiving.delayed,
        build_delayed=cpus.delayed,
    )


def _dealing(results: Results, built_by: Int64Array) -> _Dealing:
    """`built_by`: the DataLoader worker of each batch."""
    iterable, flow = bool(results.settings and results.settings.iterable), results.flow.workers
    differ = flow is not None and flow.pace is not None
    own = tuple(built_by.tolist()) if iterable or differ else ()
    return {"built_by": own, "differ": differ, "own_parts": iterable}


def _without_around(receive: Timed, after_ns: float) -> tuple[Timed, float]:
    """What is left, and the mean of what no stage has of `after_ns`: ``next()`` from the hand-over of its batch on,
    which begins with drawing the next index. Between the draws of a sampler that is a stage, nothing is known of it.
    """
    kinds = [part[-1].kind if part else "" for part in receive.parts]
    if "sampler" in kinds:
        return receive, 0.0
    means = receive.ns.mean(axis=0).tolist()
    named = sum(mean for kind, mean in zip(kinds, means, strict=True) if kind == "wrapper")
    rest = float(receive.ns[:, -1].mean())
    around_ns = min(max(0.0, after_ns - named), rest)
    ns = receive.ns.copy()
    ns[:, -1] *= (rest - around_ns) / rest if rest else 1.0
    return Timed(receive.parts, ns), around_ns


def _sending(results: Results) -> float:
    """Share of the build time in which the thread that sends the batch before had Python's lock: while others ran, and
    the building one was blocked."""
    costs = results.worker_costs
    if not costs or costs.cpu is None or costs.process_cpu is None or costs.blocked is None:
        return 0.0
    return min(0.9, max(0.0, min(costs.process_cpu - costs.cpu, costs.blocked)))


def _without_workers(results: Results, counted: int) -> Loop | Unavailable:
    assert results.loader is not None and results.trace.training_track is not None
    waits = results.loop.waits.minus(results.use.zipped)
    build = parts_within(results.tree, results.trace.training_track, waits.start, waits.end)
    build = _with_wrappers(build, results, waits)
    building, training = _training_cpus(results, busy_ns=waits.total_ns)
    loop = _loop(
        results,
        build=Timed(build.parts, build.ns * (1 - building.delayed)),
        way=np.zeros(1),
        receive=Timed((NO_STAGE,), np.zeros((1, 1))),
        building=building,
        training=training,
        counted=Counted(len(waits), counted),
    )
    return replace(loop, build_delayed=building.delayed)


def _with_wrappers(build: Timed, results: Results, waits: Intervals) -> Timed:
    """With the own code of iterators around the loader that has no spans, which was time of no stage."""
    parts, columns, rest = list(build.parts[:-1]), list(build.ns[:, :-1].T), build.ns[:, -1]
    for label, own in results.attribution.wrapped.items():
        mine = np.minimum(rest, (own.covered_before(waits.end) - own.covered_before(waits.start)).astype(np.float64))
        rest = rest - mine
        parts.append(path_of(label))
        columns.append(mine)
    return Timed((*parts, NO_STAGE), np.column_stack((*columns, rest)))


def _settings(loader: LoaderInfo) -> Settings:
    return Settings(loader.num_workers or 0, loader.prefetch_factor or TORCHS_PREFETCH, loader.in_order is not False)


def _loop(
    results: Results, build: Timed, way: Floats, receive: Timed, building: _Cpus, training: _Cpus, counted: Counted
) -> Loop:
    assert results.steps is not None and results.settings is not None
    device = find_device_use(results)
    beside, paused, between, away = find_pauses(results)
    own = outside_waits_ns(results.steps.rows) + beside - between
    busy, light = _other_cpus(results, building)
    wait = max(0.0, mean_wait_ns(results, results.steps.rows) - float(beside.mean()))
    loop = Loop(
        settings=_settings(results.settings),
        build=build,
        way_ns=way,
        receive=receive,
        own_ns=own,
        build_cpus=building.used,
        on_cpu=find_on_cpu(results),
        result_bytes=find_result_bytes(results),
        own_cpus=training.used,
        cpus=_cpus(results),
        other_cpus=busy,
        light_cpus=light,
        own_share=find_own_share(results),
        cpus_busy=_cpus_busy(results),
        batches_per_step=counted.batches_per_step,
        samples_per_step=samples_per_step(results, counted),
        step_batches=step_batches(results),
        batch_bytes=find_batch_bytes(results),
        measured_step_ns=float(own.mean()) + wait,
        measured_wait_ns=wait,
        own_threads=step_threads(results),
        own_delayed=training.delayed,
        in_step=_in_step(results, own),
        loader=results.settings,
        other_loaders=other_loaders(results),
        other_stages=find_other_stages(results),
        beside_ns=float(beside.mean()),
        is_beside_unannotated=not len(results.use.drawn),
        paused_ns=paused,
        away_ns=float(away.mean()),
        left_out=results.loop.apart.names(results.window),
        starts=results.loop.apart.begun if counts_starts(results) else 0,
        device_ns=device.busy_ns if device else None,
        device_pageable_ns=device.pageable_ns if device else 0.0,
        device_wait=device.wait if device else None,
        batch_size=results.settings.batch_size,
        in_collectives=_in_collectives(results),
        locked=locked_share(results),
        is_pinned=bool(results.settings.pin_memory),
        wait_ends_ns=find_wait_ends(results.steady),
        threads_compete=bool(results.loop.costs and results.loop.costs.threads_compete),
        pageable_ns=pageable_ns(results, counted.steps),
        worker_bytes=find_worker_bytes(results),
        lock=find_shared_lock(results),
        possible_lock=possible.place.short if (possible := find_possible_lock(results)) else "",
        kept=find_kept_loads(results),
        undivided=find_undivided(results.settings),
        handed_over=results.trace.info.pipeline.handed_over if results.trace.info.pipeline else None,
    )
    return replace(loop, own_ns=own * (1 - training.delayed) ** loop.power)


def _in_step(results: Results, own: Floats) -> StepParts:
    """`own`: of each step, what is no data wait."""
    calls, track = in_step(results.trace, results.tree, results.loader), results.trace.training_track
    if track is None or not calls.any() or results.steps is None:
        return StepParts()
    rows = results.steps.rows
    start, duration = int64([row.start_ns for row in rows]), int64([row.duration_ns for row in rows])
    found = parts_within(results.tree, track, start, start + duration, calls)
    whole = np.maximum(1.0, np.maximum(own, found.ns[:, :-1].sum(axis=1)))
    return StepParts(found.parts[:-1], found.ns[:, :-1] / whole[:, None])


def _in_collectives(results: Results) -> float:
    several = (results.trace.info.world_size or 1) > 1
    return (share_in_collectives(results.trace, results.window) or 0.0) if several else 0.0


def _built(results: Results, workers: Workers, rows: Rows) -> tuple[Rows, Timed]:
    """These batches, and what building each of them took, in the order in which workers get them: a slow worker
    finishes late, and its batches would be another one's. Those from before its worker recorded stages are left out.
    """
    table, found = workers.batches.table, []
    for track, process in results.trace.worker_tracks().items():
        mine = rows[table.pid[rows] == process.pid]
        pieces = results.tree.piece_start[results.tree.pieces_of_track(track)]
        mine = mine[table.finished_ns[mine] > pieces[0]] if len(pieces) else mine[:0]
        found.append((mine, parts_within(results.tree, track, table.started_ns[mine], table.finished_ns[mine])))
    parts = tuple(dict.fromkeys(part for _, timed in found for part in timed.parts))
    total = np.zeros((sum(len(mine) for mine, _ in found), len(parts)))
    first = 0
    for mine, timed in found:
        total[first : first + len(mine), [parts.index(part) for part in timed.parts]] = timed.ns
        first += len(mine)
    every = np.concatenate([mine for mine, _ in found]) if found else rows[:0]
    order = np.argsort(table.drawn_ns[every], kind="stable")
    return every[order], Timed(parts, total[order])


def _worker_cpus(results: Results) -> _Cpus:
    """While batches are built; a whole CPU where it was not recorded."""
    costs = results.worker_costs
    delayed = costs.run_delay if costs and costs.run_delay is not None else 0.0
    used = (costs.process_cpu if costs.process_cpu is not None else costs.cpu) if costs else None
    return _Cpus(1.0 if used is None else used / max(1e-3, 1 - delayed), min(delayed, MOST_DELAYED))


def _training_cpus(results: Results, busy_ns: float) -> tuple[_Cpus, _Cpus]:
    """Of the training thread, in the `busy_ns` of the data wait in which it does something itself, and outside of it; a
    whole CPU where it was not recorded.
    """
    thread, waiting = training_costs(results), waits_cpu_ns(results)
    own_ns = results.window.duration_ns - (results.loader.waits.total_ns if results.loader else 0)
    if thread is None or busy_ns + own_ns <= 0:
        return _Cpus(1.0, 0.0), _Cpus(1.0, 0.0)
    delayed = min(MOST_DELAYED, delayed_share(results, thread))
    if waiting is None or not busy_ns or not own_ns:
        both = _Cpus.of(thread.cpu_ns, busy_ns + own_ns, delayed)
        return both, both
    left = max(0.0, thread.run_delay_ns - delayed * own_ns)  # of a wait that something else fills, too
    inside = min(left, max(0.0, busy_ns - waiting)) / busy_ns
    return _Cpus.of(waiting, busy_ns, inside), _Cpus.of(max(0.0, thread.cpu_ns - waiting), own_ns, delayed)


def _cpus(results: Results) -> float:
    """That the program may use: those of the machine, or its quota. As many as one likes where neither is known."""
    host = results.trace.info.pipeline.host if results.trace.info.pipeline else None
    limits = [limit for limit in (host.cores, host.cpu_quota) if limit] if host else []
    return float(min(limits)) if limits else float("inf")


def _cpus_busy(results: Results) -> float:
    """`Loop.cpus_busy`. Of a quota on more CPUs than it has nothing is known."""
    load = results.load
    if load is None or load.cpu_busy is None or not load.cores or load.cores > _cpus(results):
        return 0.0
    return max(0.0, load.cpu_busy - sampling_cpus(results) / load.cores)


def _other_cpus(results: Results, building: _Cpus) -> tuple[float, float]:
    """`Loop.other_cpus`, `Loop.light_cpus`. Taking samples is part of neither: it ends with the capture. Nor are the
    program's own processes that come and go: they are not there while the loop goes on.
    """
    load, thread = results.load, training_costs(results)
    if load is None or load.cpu_busy is None or not load.cores:
        return 0.0, 0.0
    mine = max(thread.cpu_ns, thread.process_cpu_ns or 0) / results.window.duration_ns if thread else 0.0
    mine += building.used * (1 - building.delayed) * _builders(results) + sampling_cpus(results) + passing_cpus(results)
    return told_apart(max(0.0, load.cpu_busy * load.cores - mine), building.slowed)


def told_apart(taken: float, slowed: float) -> tuple[float, float]:
    """Of the CPUs that others had: threads that want one all the time, and CPUs that others had for moments.

    The former get as little as building, which takes so much longer for it; they are whole threads. The latter have
    what they want, and less than such a thread gets.
    """
    threads = float(int(taken * slowed + ALMOST))
    return threads, max(0.0, taken - threads / slowed)


def _builders(results: Results) -> float:
    """DataLoader workers that built batches at once, on average."""
    rows = results.workers.rows if results.workers else ()
    return sum(row.busy_ns for row in rows) / results.window.duration_ns
