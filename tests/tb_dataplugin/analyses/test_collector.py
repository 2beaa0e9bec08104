"""A full collection of garbage falls on any sample by chance: it is no slow sample, and no time of its stage."""

from __future__ import annotations

from typing import Any

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
    assert results_of(loop(HIT)).samples.slowest[0].collected_ns == 0


def test_where_every_sample_collects_the_stage_has_that_time() -> None:
    waits = results_of(loop(*range(12))).attribution.wait_by_stage_ns
    assert waits == {"sample::Faces": 12 * (WAIT_MS + COLLECTED_MS) * 10**6}


def test_advice_is_for_the_training_process_and_says_how_many_there_were() -> None:
    said = finding_in(loop(HIT), "garbage_collection")
    assert "worker" not in said.code and "gc.collect()\ngc.freeze()  # once, before the loop" in said.code
    assert said.title == "Python's garbage collector stopped the training process once, for 60.0 ms"
    assert said.evidence[0].text == "60.0 ms of 108 ms of data wait, in 1 full collection"
    assert said.confidence == "possible" and not said.HasField("gain_us_per_step")


def test_what_many_of_them_cost_is_known_per_step() -> None:
    said = finding_in(loop(1, 3, 5, 7, 9), "garbage_collection")
    assert said.gain_us_per_step == pytest.approx(1000 * COLLECTED_MS * 5 / 12, rel=0.01)
    assert said.confidence == "measured"


def test_workers_do_not_take_it_over() -> None:
    gain = finding_in(loop(HIT), "single_process_loading").gain_us_per_step
    assert gain == pytest.approx(1000 * WAIT_MS, rel=0.01)


READY, HIT_US = 1_000, 10_000 + 3 * 20_000 + 1_000


def two_loaders(collected: float = HIT_US, ready: int = READY, column: str = "collections") -> TraceBuilder:
    """Ten steps of 20 ms that take a batch of each of two loaders, 2 ms each, `ready` us after the wait began; the
    fourth waits 100 ms longer for the second loader's batch, and 100 ms long the training process collects garbage.
    """
    collections: dict[str, Any] = {column: {"start_us": [collected], "length_us": [100_000]}}
    builder = TraceBuilder().annotated(
        loaders=[{"num_workers": 1, "batch_size": 2, "dataset": name} for name in ("Support", "Query")],
        host={"cores": 8},
        **collections,
        training_thread={"cpu_us": 0, "run_delay_us": 0, "gc_us": 100_000},
    )
    builder.worker(0).worker(1, loader=1)
    now, samples = 10_000, []
    for step in range(10):
        more = 100_000 if step == 3 else 0
        builder.step(now, 20_000 + more)
        for loader, wait, length in ((0, now, 2_000 + more), (1, now + 2_000 + more, 2_000)):
            builder.wait(wait, length, "wait::DataLoader")
            finished, consumed = wait + (ready if loader == 0 else 500), wait + length
            stages = {f"sample::{('Support', 'Query')[loader]}": (wait - 9_000, finished - wait + 9_000)}
            builder.batch(step, loader, wait - 10_000, wait - 9_000, finished, consumed, stages).of_loader(loader)
        samples += [now + 500 + 1000 * each for each in range(20)]
        now += 20_000 + more
    return builder.sampled(samples, [0] * len(samples))


def test_a_pause_while_a_batch_is_received_is_told_apart_and_named() -> None:
    capture = capture_of(two_loaders())
    assert capture.loader.apart.pauses == 1
    assert capture.loader.apart.pauses_us == 100_000
    assert capture.loader.wait_by_stage_us["collector"] == 100_000
    assert capture.verdict.sentence.startswith(
        "A pause of the training process for Python's garbage collector (step 4) has 71.4% of the data wait "
        "(100 ms of 140 ms). The training thread waits for data for 20.0% of the rest of the window"
    )
    said = {finding.rule: finding for finding in capture.findings}
    assert not said["garbage_collection"].HasField("gain_us_per_step")
    assert all(finding.gain_us_per_step <= 4_000 for finding in said.values())


def test_it_is_the_training_process_that_collects() -> None:
    text = capture_of(two_loaders()).loader.limited_by_us.text
    assert text.startswith("the training thread was in Python's garbage collector for 71.4% of it")
    assert "workers were in Python's garbage collector" not in text


def test_while_the_batch_is_being_built_a_pause_holds_up_nothing() -> None:
    capture = capture_of(two_loaders(ready=101_500))
    assert "collector" not in capture.loader.wait_by_stage_us
    assert capture.loader.apart.pauses == 0
    assert "collector" not in capture.verdict.sentence
    assert "collector" not in capture.loader.limited_by_us.text


def test_a_finished_batch_of_another_loader_is_not_held_back() -> None:
    """And a deeper queue brings no batch sooner that was finished, whichever loader it is of."""
    flow = results_of(two_loaders()).flow.workers
    assert flow is not None
    assert flow.head_of_line.total_ns == 0
    assert flow.on_way.total_ns == 1_000_000 * 10 + 1_500_000 * 10


def test_a_pause_in_another_thread_of_the_process_is_one_as_well() -> None:
    capture = capture_of(two_loaders(column="collections_elsewhere"))
    assert (capture.loader.apart.pauses, capture.loader.apart.pauses_us) == (1, 100_000)
