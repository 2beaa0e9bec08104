"""A loop without the steps that go through many batches where others take one, or the one whose own work is most of all
steps': these are no part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tb_dataplugin.analyses.inner_loop_texts import inner_loops_name
from tb_dataplugin.analyses.inner_loops import InnerLoops
from tb_dataplugin.analyses.lone_work import LoneWork, find_lone_work
from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.steady_state import LEAST_STEPS
from tb_dataplugin.units import duration, listed
from tb_dataplugin.whatif.loop import Loop


def only_steps(results: Results, without: Collection[int]) -> Results:
    """With the other steps alone, by their numbers; what these wait is as it was measured, since a queue's way to a
    steady state is that of all of them.
    """
    if results.steps is None:
        return results
    rows = tuple(row for row in results.steps.rows if row.number not in without)
    return replace(results, steps=replace(results.steps, rows=rows), steady=None)


def find_lone_step(results: Results) -> LoneWork | None:
    """None where a device's time counts, or too few steps show what the others take."""
    if results.devices or results.steps is None or len(results.steps.rows) < LEAST_STEPS:
        return None
    return find_lone_work(results.steps)


def without_lone_step(loop: Loop, found: LoneWork) -> Loop:
    """`loop`: of the other steps. It says so."""
    name = f"step {found.step}, which takes {duration(found.more_ns / 1e3)} longer than another"
    return replace(loop, left_out=listed([*filter(None, (loop.left_out,)), name]), lone_step=name)


def as_it_steps(loop: Loop, results: Results, found: InnerLoops) -> Loop:
    """`loop`: of `results`, which have its steps alone. Its device and copies were counted over all of the window."""
    rows = results.steps.rows if results.steps else ()
    busy = [row.device_busy_ns for row in rows if row.device_busy_ns is not None]
    wait = loop.device_wait
    rates = results.throughput
    each: float | None = loop.batch_size
    if rates is not None and rates.item != "batch" and rates.samples_per_batch is not None:
        each = rates.samples_per_batch
    return replace(
        loop,
        batches_per_step=float(found.usual),
        samples_per_step=None if each is None else each * found.usual,
        device_ns=sum(busy) / len(busy) if busy and loop.device_ns is not None else loop.device_ns,
        device_pageable_ns=loop.device_pageable_ns * found.left,
        pageable_ns=None if loop.pageable_ns is None else loop.pageable_ns * found.left,
        device_wait=None if wait is None else replace(wait, ns=wait.ns * found.left),
        left_out=listed([*filter(None, (loop.left_out,)), inner_loops_name(found)]),
    )
