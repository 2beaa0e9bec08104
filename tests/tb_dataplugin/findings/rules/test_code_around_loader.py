from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tb_dataplugin.findings.cases import capture_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import (
    FORWARD,
    MAIN,
    MIXING,
    MIXUP,
    MODEL,
    OPTIMIZER,
    SORT,
    TRAIN,
    Frame,
    caller,
    run,
)


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
