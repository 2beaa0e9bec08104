"""A full collection of garbage falls on any sample by chance: it is no slow sample, and no time of its stage."""

from __future__ import annotations

import pytest

from tests.tb_dataplugin.findings.cases import capture_of, finding_in, results_of
from tests.trace_builder import TraceBuilder

STEP_MS, WAIT_MS, COLLECTED_MS, HIT = 30, 4, 60, 6


def loop(*hit: int) -> TraceBuilder:
    """Twelve steps of a loop without DataLoader workers; in these a collection of 60 ms begins 1 ms into the sample."""
    now, starts = 0.0, []
    builder = TraceBuilder()
    spans = []
    for number in range(12):
        more = COLLECTED_MS if number in hit else 0
        spans.append((1000 * now, 1000 * (STEP_MS + more), 1000 * (WAIT_MS + more)))
        starts += [1000 * now + 1000] if more else []
        now += STEP_MS + more
    collections = {"start_us": starts, "length_us": [1000 * COLLECTED_MS] * len(starts)}
    thread = {"cpu_us": 1000 * now, "run_delay_us": 0, "gc_us": 1000 * COLLECTED_MS * len(starts)}
    builder.annotated(loaders=[{"num_workers": 0}], collections=collections, training_thread=thread)
    for start, length, wait in spans:
        builder.step(start, length).wait(start, wait, "wait::DataLoader").stage("sample::Faces", start, wait)
    return builder


def test_its_time_is_no_time_of_the_stage_it_falls_on() -> None:
    waits = results_of(loop(HIT)).attribution.wait_by_stage_ns
    assert waits == {"collector": COLLECTED_MS * 10**6, "sample::Faces": 12 * WAIT_MS * 10**6}


def test_it_makes_no_sample_slow_and_no_call_the_first() -> None:
    capture = capture_of(loop(HIT))
    rules = {finding.rule: finding for finding in capture.findings}
    assert "garbage_collection" in rules and "slow_samples" not in rules
    assert not any("One call" in finding.title for finding in capture.findings)
    assert results_of(loop(HIT)).slow_samples[0].collected_ns == 0


def test_where_every_sample_collects_the_stage_has_that_time() -> None:
    waits = results_of(loop(*range(12))).attribution.wait_by_stage_ns
    assert waits == {"sample::Faces": 12 * (WAIT_MS + COLLECTED_MS) * 10**6}


def test_advice_is_for_the_training_process_and_says_how_many_there_were() -> None:
    said = finding_in(loop(HIT), "garbage_collection")
    assert "worker" not in said.code and "gc.collect()\ngc.freeze()  # once, before the loop" in said.code
    assert said.evidence[0].text == "60.0 ms in the collector, of which 1 full collection took 60.0 ms"
    assert said.confidence == "likely"


def test_workers_do_not_take_it_over() -> None:
    gain = finding_in(loop(HIT), "single_process_loading").gain_us_per_step
    assert gain == pytest.approx(1000 * WAIT_MS, rel=0.01)
