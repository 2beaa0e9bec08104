"""What is said of a capture never contradicts itself: walked over all golden captures and planted trouble."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.run import run_analyses
from tb_dataplugin.analyses.steps import find_window
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.findings.beside_bound import BESIDE_BOUND
from tb_dataplugin.findings.judgement import Judgement, judge
from tb_dataplugin.findings.read_signals import read_signals
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.model.intervals import Window
from tb_dataplugin.model.trace import Trace
from tb_dataplugin.options import DEFAULT_OPTIONS
from tb_dataplugin.reader import read_trace
from tb_dataplugin.units import duration
from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.words import GAIN_BOUND
from tests.simulated_run import Simulation
from tests.tb_dataplugin.findings.cases import (
    CHAIN,
    copying,
    evidence_of,
    finding_in,
    handed_over,
    held_up,
    input_bound,
    launching,
    reading,
    signals_of,
)
from tests.tb_dataplugin.findings.test_leading import TRACES
from tests.trace_builder import TraceBuilder, training_run


def late() -> TraceBuilder:
    """Batches of a worker that is busy for most of the window are long on their way, and wait behind each other."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0, started=-30_000)
    for number in range(10):
        start = 10_000.0 * number
        builder.step(start, 10_000).wait(start, 9_000, "wait::DataLoader")
        stages = {"sample::Pets": (start - 9_950, 8_950.0)}
        builder.batch(number, 0, start - 10_060, start - 10_050, start - 1_000, start + 8_990, stages)
    return builder


PLANTED = {
    "training": training_run(),
    "input bound": input_bound(),
    "chain": input_bound(stages=CHAIN),
    "chain, two CPUs": input_bound(stages=CHAIN, cores=2, run_delay=0.5),
    "replay": input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]),
    "handed over": handed_over(4000),
    "collated": handed_over(100, 3000),
    "held up": held_up(),
    "small reads": reading(1000),
    "large reads": reading(10**7),
    "launches": launching(),
    "copies": copying("Memcpy HtoD (Pageable -> Device)", True),
    "late": late(),
}


@pytest.fixture(scope="module", params=[*PLANTED, *(path.name for path in TRACES), "simulated"])
def judged(request: pytest.FixtureRequest) -> tuple[Results, Signals, Judgement]:
    results = run_analyses(*_opened(request.param), DEFAULT_OPTIONS)
    return results, read_signals(results), judge(results)


def _opened(name: str) -> tuple[Trace, Window]:
    if name in PLANTED:
        trace = PLANTED[name].trace()
    elif name == "simulated":
        trace = Simulation(workers=2, steps=24).trace(np.random.default_rng(3), 7)
    else:
        trace = read_trace(next(path for path in TRACES if path.name == name))
    window = find_window(trace)
    if not isinstance(window, Window):
        pytest.skip("no window")
    return trace, window


def texts(judgement: Judgement) -> Iterator[str]:
    yield judgement.verdict.sentence
    yield from (fact.text for fact in judgement.verdict.evidence)
    for named in judgement.findings:
        finding = named.finding
        yield from (finding.title, finding.advice, finding.confidence_reason, named.gain.text)
        yield from (fact.text for fact in finding.evidence)
    said = judgement.sentences
    yield from (said.findings, said.wait, said.steady, said.stages, said.stage_waits, said.sawtooth)
    yield from (*said.limits.values(), *said.devices, *said.workers)


def test_no_share_is_above_the_whole(judged: tuple[Results, Signals, Judgement]) -> None:
    judgement = judged[2]
    for text in texts(judgement):
        assert all(float(number) <= 100 for number in re.findall(r"([\d.]+)%", text)), text
    facts = [fact for named in judgement.findings for fact in named.finding.evidence]
    for fact in (*facts, *judgement.verdict.evidence):
        assert fact.unit != "share" or fact.value is None or 0 <= fact.value <= 1 + 1e-9, fact


OF_SEVERAL_STAGES = ("float_before_transfer", "shrink_first", "batchable_transforms", "slow_samples")
"""Rules whose gain is of more than the stage that they name."""
_UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}


def test_no_part_is_above_what_it_is_a_part_of(judged: tuple[Results, Signals, Judgement]) -> None:
    for text in texts(judged[2]):
        for part, unit, whole, its_unit in re.findall(r"([\d.]+) (ns|µs|ms|s) of ([\d.]+) (ns|µs|ms|s)\b", text):
            assert float(part) * _UNITS[unit] <= float(whole) * _UNITS[its_unit], text


def test_no_gain_is_above_what_its_cause_cost_unless_it_says_why(judged: tuple[Results, Signals, Judgement]) -> None:
    _, signals, judgement = judged
    for named in judgement.findings:
        finding, gain = named.finding, named.gain
        if gain.us_per_step is None or not signals.step_count:
            continue
        saved = gain.us_per_step * signals.step_count
        assert saved <= signals.loop_us * (1 + 1e-9), named.rule
        cost = cost_of(signals, finding.stage)
        if cost is not None and named.rule not in OF_SEVERAL_STAGES:
            kinds = {fact.kind for fact in finding.evidence} - {BESIDE_BOUND}
            says_why = any(kind.startswith(GAIN_BOUND) for kind in kinds)
            assert says_why or float(f"{saved:.3g}") <= float(f"{cost:.3g}") * 1.001, (named.rule, saved, cost)


def test_no_finding_about_a_setting_saves_more_than_what_if_predicts(
    judged: tuple[Results, Signals, Judgement],
) -> None:
    results, _, judgement = judged
    loop = fit_loop(results)
    for named in judgement.findings:
        advised = ADVISED.get(named.rule)
        if advised is not None and named.gain.us_per_step is not None and not isinstance(loop, Unavailable):
            least_us = predict(loop, advised(named.finding.code)).least_us
            assert named.gain.us_per_step <= loop.measured_step_ns / 1e3 - least_us + 1e-6, named.rule


def _number(name: str, code: str) -> int:
    return int(re.findall(rf"{name}=(\d+)", code)[0])


ADVISED: dict[str, Callable[[str], Change]] = {
    "single_process_loading": lambda code: Change(workers=_number("num_workers", code)),
    "too_few_workers": lambda code: Change(workers=_number("num_workers", code)),
    "prefetch_too_shallow": lambda code: Change(prefetch=_number("prefetch_factor", code)),
    "head_of_line": lambda code: Change(in_order=False),
}


def test_findings_stand_by_severity_and_then_by_what_they_save_as_the_heading_says(
    judged: tuple[Results, Signals, Judgement],
) -> None:
    severe = [named.finding.severity for named in judged[2].findings]
    assert severe == sorted(severe, key=["high", "medium", "low"].index)
    for level in set(severe):
        gains = [one.finding.gain_us_per_step for one in judged[2].findings if one.finding.severity == level]
        known = [float(f"{gain:.3g}") for gain in gains if gain is not None]
        assert known == sorted(known, reverse=True) and None not in gains[: len(known)]


def test_a_way_that_is_longer_than_its_share_gains_what_busy_workers_leave() -> None:
    """The wait is the worker's cycle, mostly building; its batches are on their way for all of it."""
    signals = signals_of(late())
    finding = finding_in(late(), "transfer_heavy")
    shared = signals.wait_for_kinds("transfer")
    assert shared is not None and signals.workers is not None
    assert signals.on_way_us > 4 * shared.cost_us
    assert finding.gain_us_per_step * 10 <= (1 - signals.workers.busy) * signals.window_us
    assert any("can go: the DataLoader workers are busy for 81.4%" in text for text in evidence_of(finding))


def cost_of(signals: Signals, stage: str) -> float | None:
    """What the stage that a finding is about cost; these rules are about several stages."""
    wait = signals.wait_for_kinds("transfer") if stage == "transfer" else signals.wait_for(stage)
    return None if wait is None else wait.cost_us


def test_the_verdicts_numbers_are_the_tables(judged: tuple[Results, Signals, Judgement]) -> None:
    results, signals, judgement = judged
    if results.loader is None:
        return
    waits = results.attribution.wait_by_stage_ns or {}
    rows: dict[str, int] = {}
    for row in results.stages:
        rows[row.stage.name] = rows.get(row.stage.name, 0) + (row.data_wait_ns or 0)
    for name, caused in rows.items():
        assert name.startswith(("wait::", "h2d::")) or not waits or caused == waits.get(name, 0), name
    for fact in judgement.verdict.evidence:
        if fact.kind == "wait_by_stage" and fact.stage in rows:
            assert fact.value == pytest.approx(rows[fact.stage] / results.loader.waits.total_ns)
    for wait in signals.waits_by_stage or ():
        assert wait.share == pytest.approx(waits[wait.name] / results.loader.waits.total_ns)


def test_the_workers_sentence_agrees_with_the_verdict(judged: tuple[Results, Signals, Judgement]) -> None:
    _, signals, judgement = judged
    for sentence in judgement.sentences.workers:
        if "mostly while finished batches are in the queue" in sentence and signals.is_input_bound(INPUT_BOUND):
            assert judgement.verdict.bound == "transfer", sentence


def test_workers_that_are_advised_have_the_numbers_of_what_if(judged: tuple[Results, Signals, Judgement]) -> None:
    results, _, judgement = judged
    loop = fit_loop(results)
    for finding in (named.finding for named in judgement.findings):
        facts = [fact for fact in finding.evidence if fact.kind == GAIN_BOUND and "90% interval" in fact.text]
        if not facts or finding.change is None or finding.change.workers is None or isinstance(loop, Unavailable):
            continue
        step, now = predict(loop, finding.change).step_us, loop.measured_step_ns / 1e3
        assert facts[0].value == pytest.approx(step.value)
        assert f"(90% interval {duration(step.low)} to {duration(step.high)})" in facts[0].text
        assert (finding.gain_us_per_step or 0.0) <= 1.02 * (now - step.low)
