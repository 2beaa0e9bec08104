"""CPU time of the program's own processes that come and go, as the workers of an evaluation."""

from __future__ import annotations

import pytest

from tb_dataplugin.analyses.taken_cpus import passing_cpus
from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, results_of
from tests.trace_builder import TraceBuilder

STEPS, STEP, WAIT, BUILD = 16, 60_000.0, 45_000.0, 50_000.0
PASSING = 25_000.0
"""Microseconds of a step: of another process, while the loop does not need a CPU."""


def alternating(passing: float | None, unknown_us: float = 0.0) -> TraceBuilder:
    """One DataLoader worker builds for 50 of 60 ms, the step takes 15; two CPUs are 75% busy. `unknown_us`: of each
    step, a second wait, for a batch without a record.
    """
    own = STEP - WAIT
    thread = {"cpu_us": own * STEPS, "run_delay_us": 0.0, "process_cpu_us": own * STEPS}
    told = {} if passing is None else {"passing_children_cpu_us": passing * STEPS}
    loaders = [{"num_workers": 1, "batch_size": 8, "prefetch_factor": 2}]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 2}, training_thread=thread | told).worker(0)
    for number in range(STEPS):
        begin, done = number * STEP, number * STEP + WAIT - 10
        builder.step(begin, STEP).wait(begin, WAIT, "wait::DataLoader")
        if unknown_us:
            builder.wait(begin + WAIT + 1000, unknown_us, "wait::DataLoader")
        builder.counter("host::cpu", begin, **{"core 0": 75.0, "core 1": 75.0})
        spans = {"collate::Graph": (done - BUILD, BUILD, BUILD)}
        costs = {"process_cpu_us": BUILD, "run_delay_us": 0.0}
        builder.batch(number, 0, done - 2 * STEP, done - BUILD, done, done + 5, spans, **costs)
    return builder


def others(builder: TraceBuilder) -> float:
    loop = fit_loop(results_of(builder))
    assert isinstance(loop, Loop)
    return loop.other_cpus + loop.light_cpus


def test_the_programs_own_processes_that_come_and_go_are_no_other_programs() -> None:
    assert others(alternating(0.0)) == pytest.approx(PASSING / STEP, abs=0.03)
    assert others(alternating(PASSING)) == pytest.approx(0.0, abs=0.03)


def test_where_that_was_not_recorded_waits_for_unknown_batches_tell_of_such_a_process() -> None:
    assert passing_cpus(results_of(alternating(None))) == 0.0
    assert passing_cpus(results_of(alternating(None, unknown_us=9000.0))) == pytest.approx(9000 / STEP, rel=0.02)


def test_recorded_workers_are_counted_once() -> None:
    """All of the children's CPU time is that of DataLoader workers with records, which ended in the window."""
    builder = alternating(BUILD)
    builder.workers[0]["ended_us"] = STEPS * STEP - 2000
    assert passing_cpus(results_of(builder)) == pytest.approx(0.0, abs=0.03)


def test_cpus_that_are_free_part_of_the_time_are_so_in_whatif_and_in_the_finding() -> None:
    """Worker, step and others would keep 2.4 CPUs busy, but not at once."""
    builder = alternating(0.0)
    loop = fit_loop(results_of(builder))
    assert isinstance(loop, Loop)
    more = predict(loop, Change(workers=2))
    assert not more.crowded and more.short_of_cpus
    said = finding_in(builder, "too_few_workers")
    assert said.title.endswith("and CPUs are free part of the time")
    assert any("2 CPUs are not enough" in text and "at once" in text for text in evidence_of(said))
