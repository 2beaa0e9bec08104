"""What few slow samples cost a loop whose batches DataLoader workers build, simulated batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.rules.slow_samples import check
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.whatif import Change
from tb_dataplugin.whatif.change import changed
from tb_dataplugin.whatif.fitting import fit_loop
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, results_of, signals_of
from tests.trace_builder import TraceBuilder

WORKERS, PREFETCH, SIZE, STEPS, USUAL = 4, 2, 8, 40, 5_000.0
FIRST = 1000  # the epoch is under way
CROWD = {24: 100_000.0, 31: 80_000.0, 38: 90_000.0, 41: 70_000.0}
ALONE = {20: 900_000.0}


def loop(slow: Mapping[int, float], own: float) -> TraceBuilder:
    """Batches of 8 samples of 5 ms; the first sample of each batch of `slow` takes so long. Ten steps are warm-up."""
    settings = {"name": "DataLoader", "num_workers": WORKERS, "batch_size": SIZE, "prefetch_factor": PREFETCH}
    builder = TraceBuilder().annotated(loaders=[settings], host={"cores": 16})
    for worker in range(WORKERS):
        builder.worker(worker, started=-1e9)
    free, consumed, ask, ahead = [-1.0] * WORKERS, list[float](), 0.0, WORKERS * PREFETCH
    for number in range(10 + STEPS + ahead):
        worker, drawn = number % WORKERS, -1.0 if number < ahead else consumed[number - ahead]
        start = now = max(drawn, free[worker])
        for place in range(SIZE):
            took = slow.get(number, USUAL) if place == 0 else USUAL
            facts = {"batch": FIRST + number, "index": number * SIZE + place, "epoch": 0, "cpu_us": took}
            for name, part in (("sample::Files", took), ("decode::PIL.Image", 0.9 * took)):
                builder.add("user_annotation", name, now, part, pid=100 + worker, tid=100 + worker, **facts)
            now += took
        free[worker] = now
        taken = max(ask + 1, now + 1) if number < 10 + STEPS else None
        builder.batch(FIRST + number, worker, drawn, start, now, taken)
        if taken is None:
            continue
        consumed.append(taken + 1)
        if number >= 10:
            builder.step(ask, taken + 1 - ask + own).wait(ask, taken + 1 - ask, "wait::DataLoader")
        ask = taken + 1 + own
    return builder


def length(builder: TraceBuilder) -> float:
    return capture_of(builder).window_us / STEPS


def test_where_workers_limit_slow_samples_cost_their_time_over_the_workers() -> None:
    excess = sum(CROWD.values()) - len(CROWD) * USUAL
    said = finding_in(loop(CROWD, own=2_000), "slow_samples")
    saved = length(loop(CROWD, own=2_000)) - length(loop({}, own=2_000))
    assert 0.99 * excess / WORKERS / STEPS <= said.gain_us_per_step <= saved < 0.4 * excess / STEPS
    assert "of each DataLoader worker" in " ".join(evidence_of(said))
    assert "320 ms of the DataLoader workers' time more" in evidence_of(said)[0]


def test_one_that_holds_back_all_others_costs_what_its_batch_was_waited_for() -> None:
    """The workers would be ahead, but build nothing until it is there."""
    said = finding_in(loop(ALONE, own=15_000), "slow_samples")
    saved = length(loop(ALONE, own=15_000)) - length(loop({}, own=15_000))
    assert said.gain_us_per_step == pytest.approx(saved, rel=0.1) and saved > 2 * 895_000 / WORKERS / STEPS


@pytest.mark.parametrize(("slow", "own"), ((CROWD, 2_000.0), (CROWD, 8_000.0), (ALONE, 15_000.0), (ALONE, 2_000.0)))
def test_they_save_no_more_than_all_of_the_stages_that_they_are_slow_in(slow: dict[int, float], own: float) -> None:
    signals = signals_of(loop(slow, own))
    for known in (signals, replace(signals, foresight=None)):
        said, stages = check(known), saved_without(known, [row for row in known.stages if row.stage.kind != "wait"])
        assert isinstance(said, Finding) and said.gain_us_per_step is not None
        assert said.gain_us_per_step * STEPS <= stages.us * 1.001


def test_the_model_builds_single_batches_faster() -> None:
    fitted = fit_loop(results_of(loop(CROWD, own=2_000)))
    assert isinstance(fitted, Loop) and len(fitted.built) == len(fitted.build)
    row = fitted.built.index((0, FIRST + 31))
    assert fitted.build.total_ns[row] == pytest.approx(115e6)
    faster = changed(fitted, Change(single=(((0, FIRST + 31), 40 / 115),)))
    assert faster.build.total_ns[row] == pytest.approx(40e6)
    assert faster.build.total_ns.sum() == pytest.approx(fitted.build.total_ns.sum() - 75e6)


def test_batches_that_may_come_out_of_order_hold_back_none() -> None:
    builder = loop(CROWD, own=2_000)
    assert "handed over in order" in finding_in(builder, "slow_samples").advice
    signals = signals_of(builder)
    assert signals.loader is not None
    said = check(replace(signals, loader=replace(signals.loader, in_order=False)))
    assert isinstance(said, Finding) and "handed over in order" not in said.advice
