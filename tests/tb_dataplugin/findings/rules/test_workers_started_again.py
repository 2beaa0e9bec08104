"""An evaluation inside steps of the loop, whose DataLoader workers start anew each time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from tb_dataplugin.findings.step_work import slow_lines
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, signals_of
from tests.tb_dataplugin.findings.step_cases import TRAIN
from tests.trace_builder import TraceBuilder

RULE, STEP, STEPS = "workers_started_again", 50_000, 20
MAKING, STARTING, BUILDING, VALIDATING, ENDING = 20_000, 8_000, 10_000, 1_000, 12_000
PLACE = [("evaluate", TRAIN, 9), ("__iter__", "/lib/torch/utils/data/dataloader.py", 500)]
VAL = {"dataset": "Val", "num_workers": 1, "batch_size": 16, "sampler_length": 32, "shuffle": False}


def evaluating(
    passes: Collection[int] = (4, 9, 14, 19), *, kept: bool = False, lives_on: bool = False, gone: bool | None = True
) -> TraceBuilder:
    """A pass has two batches, one after the other, and makes its loader anew unless that is `kept`."""
    loaders = [{"dataset": "Tiles", "num_workers": 1, "batch_size": 16, "persistent_workers": True}]
    held = {} if gone is None else {"gone": gone}
    loaders += [{**VAL, "persistent_workers": lives_on, **held} for _ in range(1 if kept else len(passes))]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}).worker(0, started=-1_000)
    at, samples, done = 0, [], 0
    for step in range(STEPS):
        builder.epoch, builder.pids[0] = 0, 100
        builder.batch(step, 0, at - 40_000, at - 30_000, at - 20_000, at + 2_000).of_loader(0).wait(at, 2_000)
        lasts = STEP
        if step in passes:
            loader, wait = 1 if kept else 1 + done, at + 10_000 + MAKING
            end = wait + STARTING + 2 * (BUILDING + VALIDATING)
            builder.pids[0] = pid = 200 + (0 if lives_on else step)
            builder.epoch = done if kept else 0
            if not lives_on or not done:
                ends = None if lives_on else end + ENDING - 100
                builder.worker(0, started=wait + STARTING - 100, loader=loader, pid=pid, ended=ends)
            begun = wait + STARTING
            for number in range(2):
                built = begun + BUILDING
                builder.batch(number, 0, wait - 500, begun, built - 200, built - 100).of_loader(loader)
                builder.wait(wait if not number else begun, built - (wait if not number else begun))
                begun = built + VALIDATING
            builder.wait(end, 100 if lives_on else ENDING)
            lasts += MAKING + STARTING + 2 * (BUILDING + VALIDATING) + ENDING
            samples += [at + 10_000 + 1_000 * each for each in range(20)]
            done += 1
        builder.step(at, lasts)
        at += lasts
    return builder.stacks(samples, [tuple(PLACE)] * len(samples), sources={(TRAIN, 9): "batches = iter(val_loader())"})


def test_a_loader_that_each_evaluation_makes_anew_is_to_be_kept() -> None:
    found = finding_in(evaluating(), RULE)
    assert found.title.startswith(
        "DataLoader workers of the DataLoader of Val (batches of 16, num_workers=1) start anew"
    )
    assert "each of 4 passes over it" in found.title and found.title.endswith("(train.py:9)")
    assert found.advice.startswith("Make this DataLoader once") and found.confidence == "likely"
    assert "4 DataLoaders with the same settings, one after another" in evidence_of(found)


def test_the_line_that_makes_or_drops_its_iterators_is_no_finding_of_its_own() -> None:
    """Its time is in this finding's gain, and the change is the same."""
    builder = evaluating()
    assert finding_of(builder, "slow_step_line") is None and not slow_lines(signals_of(builder))
    (line,) = slow_lines(replace(signals_of(builder), started_again=()))
    assert line.work == "iterators" and line.place == "train.py:9"


def test_building_batches_is_no_part_of_what_it_saves() -> None:
    """What these steps take longer is the bound, as few samples leave room for more; it has validating as well."""
    found, whole = finding_in(evaluating(), RULE), MAKING + STARTING + ENDING + 2 * VALIDATING
    assert found.gain_us_per_step == pytest.approx(whole * 4 / STEPS, rel=0.02)
    assert any("20.2 ms per pass until its workers gave a first batch" in text for text in evidence_of(found))


def test_a_loader_that_is_kept_needs_persistent_workers_alone() -> None:
    found = finding_in(evaluating(kept=True, gone=None), RULE)
    assert found.advice.startswith("Give this DataLoader persistent_workers=True") and "once" not in found.code
    assert found.confidence == "likely"
    assert finding_of(evaluating(kept=True, lives_on=True, gone=None), RULE) is None


def test_two_that_are_alike_may_both_be_held() -> None:
    assert finding_in(evaluating((4, 14), gone=False), RULE).confidence == "possible"
    assert finding_in(evaluating((4, 14), gone=True), RULE).confidence == "likely"


def test_one_pass_does_not_start_again() -> None:
    assert finding_of(evaluating((4,)), RULE) is None


def test_loaders_that_are_alike_are_one_sentence() -> None:
    sentence = capture_of(evaluating()).verdict.sentence
    assert sentence.count("(batches of 16, num_workers=1)") == 1
    assert (
        "4 other DataLoaders of Val (batches of 16, num_workers=1), iterated in 4 steps (evaluations?), have"
        in sentence
    )
    assert "iterated in steps 5 and 15 (evaluations?)" in capture_of(evaluating((4, 14))).verdict.sentence


def test_what_worker_init_fn_has_of_it_is_named() -> None:
    builder = evaluating()
    for worker in builder.workers[1:]:
        worker["init_us"] = [worker["started_us"] - 6_000, worker["started_us"] - 1_000]
    assert any(
        "until they had ended, 5.00 ms of that in its worker_init_fn" in text
        for text in evidence_of(finding_in(builder, RULE))
    )
    assert not any("worker_init_fn" in text for text in evidence_of(finding_in(evaluating(), RULE)))
