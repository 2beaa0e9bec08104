from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.analyses.throughput import Throughput, with_code_around
from tb_dataplugin.findings.callee_advice import waits_for_another
from tb_dataplugin.model.intervals import Window
from tests.tb_dataplugin.findings.cases import capture_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import (
    FORWARD,
    MAIN,
    MIXING,
    MIXUP,
    MODEL,
    NEXT,
    OPTIMIZER,
    SORT,
    TRAIN,
    Frame,
    caller,
    run,
)
from tests.trace_builder import TraceBuilder


def test_the_verdict_does_not_clear_the_loader_where_code_around_it_takes_most() -> None:
    capture = capture_of(run([(MIXING, 80), (MODEL, 20)], caller()))
    assert "is not the bottleneck" not in capture.verdict.sentence
    assert "augmented (train.py:1), a generator around the DataLoader" in capture.verdict.sentence
    assert "95% interval" in capture.verdict.sentence
    assert capture.verdict.bound == "wrapper"
    assert capture.findings[0].rule == "code_around_loader"
    assert capture.findings[0].severity == "high"
    assert capture.findings[0].title.startswith("wrapper::augmented takes ")
    assert capture.findings[0].evidence[0].value == pytest.approx(0.8, abs=0.02)


def test_an_iterator_with_a_next_of_its_own_is_treated_alike() -> None:
    of_class = ("Mixed.__next__", TRAIN, 15)
    known = caller(function="Mixed.__next__", generator=False)
    finding = finding_in(run([((MAIN, of_class, SORT), 80), (MODEL, 20)], known), "code_around_loader")
    assert finding.title.startswith("wrapper::Mixed takes")


def test_a_generator_that_steps_end_in_is_the_training_loop() -> None:
    capture = capture_of(run([((MAIN, MIXUP, FORWARD), 80), ((MAIN, MIXUP, OPTIMIZER), 20)], caller(steps_inside=9)))
    assert not [finding for finding in capture.findings if finding.rule == "code_around_loader"]
    assert "is not the bottleneck" in capture.verdict.sentence


@pytest.mark.parametrize(("model", "is_found"), ((MODEL, True), ((MAIN, MIXUP, FORWARD), False)))
def test_where_no_step_was_seen_the_model_says_which_is_the_loop(model: Sequence[Frame], is_found: bool) -> None:
    builder = run([(MIXING, 80), (model, 20)], caller(steps=0))
    assert (finding_of(builder, "code_around_loader") is not None) == is_found


def test_a_generator_that_takes_little_is_not_mentioned() -> None:
    builder = run([(MIXING, 3), (MODEL, 97)], caller())
    assert finding_of(builder, "code_around_loader") is None
    assert "is not the bottleneck" in capture_of(builder).verdict.sentence


def test_with_a_device_only_its_idle_time_counts() -> None:
    builder = run([(MIXING, 80), (MODEL, 20)], caller())
    for step in range(10):
        builder.call("cudaLaunchKernel", 10_000 * step, 5, step + 1)
        builder.kernel(10_000 * step + 10, 9_900, correlation=step + 1)
    assert finding_of(builder, "code_around_loader") is None


def test_code_around_the_loader_is_no_part_of_the_training_step() -> None:
    """8 of 10 ms are the generator's; a batch of one sample per step."""
    builder = run([(MIXING, 80), (MODEL, 20)], caller())
    for step in range(10):
        builder.stage("sample::Pets", 10_000 * step + 10, 300)
    throughput = capture_of(builder).throughput
    assert throughput.slowest_part == "around"
    assert throughput.around_per_s == pytest.approx(1 / 0.008, rel=0.05)
    assert throughput.device_per_s == pytest.approx(1 / 0.0016, rel=0.25)


def slow_builds(around: int, build: float = 11_800) -> TraceBuilder:
    """Ten steps of 12 ms that wait 9 ms for the only worker. Of 120 samples of the training thread `around` are a
    generator's code. Nothing was recorded of the first step's batch.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}], callers=[caller()]).worker(0)
    for step in range(10):
        begin, got = 12_000 * step, 12_000 * step + 9_000
        builder.step(begin, 12_000).wait(begin, 9_000, "wait::DataLoader")
        if step:
            started = got - 20 - build
            stages = {"sample::Pets": (started + 10, build - 20)}
            builder.batch(step, 0, started, started, got - 20, got - 10, stages)
    times = [1_000 * number + 500 for number in range(120)]
    outside = [time for time in times if time % 12_000 > 9_000]
    of_loader = set(outside[:: len(outside) // around])
    stacks = [MIXING if time in of_loader else MODEL if time in outside else (MAIN, MIXUP, NEXT) for time in times]
    return builder.stacks(times, stacks)


def test_a_batch_without_a_record_does_not_make_code_around_the_loader_what_limits() -> None:
    """It takes little, and building batches most: the sentence follows the rates."""
    throughput = capture_of(slow_builds(around=6)).throughput
    assert throughput.prepare_per_s < throughput.device_per_s < throughput.around_per_s
    assert throughput.slowest_text == "preparation limits"


def test_what_is_not_the_slowest_part_by_itself_does_not_limit_whatever_its_part_of_the_data_wait() -> None:
    window = Window(0, 1_000)
    rates = Throughput(
        10, reached=1e7, read=None, prepare=2e7, load=2e7, device=1.5e7, elsewhere_ns=50, built_ns=30, consumer_ns=700
    )
    assert with_code_around(rates, 0.3, window).slowest_part is None
    assert with_code_around(rates, 0.6, window).slowest_part == "around"


def test_one_that_waits_for_a_thread_of_the_program_is_not_told_to_run_in_a_thread() -> None:
    get, of_class = ("Queue.get", "/lib/python3.12/queue.py", 171), ("Mixed.__next__", TRAIN, 15)
    known = caller(function="Mixed.__next__", generator=False)
    finding = finding_in(run([((MAIN, of_class, get), 80), (MODEL, 20)], known), "code_around_loader")
    assert "for what another thread or process makes: make that faster" in finding.advice
    assert "separate thread" not in finding.advice and not finding.code


@pytest.mark.parametrize(
    ("call", "waits"),
    [("self.q.get", True), ("future.result", True), ("get", True), ("target", False), ("np.sort", False)],
)
def test_which_calls_wait_for_another(call: str, waits: bool) -> None:
    assert bool(waits_for_another(call)) is waits
    assert bool(waits_for_another(call, 2)) is waits


def test_who_has_dataloader_workers_is_told_to_annotate_the_loader_and_not_to_use_some() -> None:
    for workers, how_many in ((2, " (2 DataLoader workers)"), (0, "")):
        said = waits_for_another("q.get", workers)
        assert f"a DataLoader that this capture does not follow{how_many}," in said
        assert "annotate.loader(...)" in said and "let several processes" not in said
    followed = waits_for_another("q.get", is_followed=True)
    assert "beside waiting for the DataLoader" in followed and "annotate.loader" not in followed
    unknown = waits_for_another("q.get")
    assert "let several processes make it" in unknown and "Where a DataLoader makes it already" in unknown
