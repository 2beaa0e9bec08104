"""``next(iter(val_loader))`` in some of the steps of a loop."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tb_dataplugin.units import percent
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of
from tests.tb_dataplugin.findings.step_cases import TRAIN
from tests.trace_builder import TraceBuilder

RULE, STEP = "iterator_for_a_look", 50_000
LOOK = 100_000
"""What a look takes: a quarter of it waiting."""
PLACE = [("quick_look", TRAIN, 9), ("__iter__", "/lib/torch/utils/data/dataloader.py", 500)]


def looking(looks: Collection[int], steps: int = 20, taken: int = 1, length: int = 40) -> TraceBuilder:
    """The training loop's worker lives on; a look starts one of its own, which has ended when its step ends."""
    loaders = [
        {"dataset": "Tiles", "num_workers": 1, "batch_size": 16, "persistent_workers": True, "sampler_length": 3200},
        {"dataset": "Val", "num_workers": 1, "batch_size": 16, "sampler_length": 16 * length, "shuffle": False},
    ]
    builder = TraceBuilder().annotated(loaders=loaders, host={"cores": 8}).worker(0, started=-1_000)
    at, samples = 0, []
    for step in range(steps):
        builder.epoch = 0
        builder.pids[0] = 100
        builder.batch(step, 0, at - 40_000, at - 30_000, at - 20_000, at + 2_000).of_loader(0)
        builder.wait(at, 2_000)
        lasts = STEP
        if step in looks:
            builder.epoch, wait = 1 + step, at + 30_000
            builder.worker(0, started=wait, loader=1, pid=200 + step, ended=at + STEP + LOOK - 5_000)
            each = 25_000 / taken
            for number in range(taken):
                end = wait + each * (number + 1)
                builder.batch(number, 0, wait - 500, end - each, end - 2_000, end - 100).of_loader(1)
                builder.wait(round(end - each), round(each))
            builder.batch(taken, 0, wait, wait + 26_000, wait + 40_000, None).of_loader(1)
            lasts = STEP + LOOK
            samples += [at + 60_000 + 1_000 * each for each in range(10)]
        builder.step(at, lasts)
        at += lasts
    return builder.stacks(samples, [tuple(PLACE)] * len(samples), sources={(TRAIN, 9): "x, y = next(iter(val))"})


@pytest.mark.parametrize("looks", [(4, 9, 14, 19), (4, 9), (7,)])
def test_it_is_found_by_what_it_costs_however_often_it_is_done(looks: tuple[int, ...]) -> None:
    """100 ms for each look, among steps of 50 ms."""
    found = finding_in(looking(looks), RULE)
    assert found.gain_us_per_step == pytest.approx(LOOK * len(looks) / 20)
    where = f"is made in {len(looks)} of 20 steps for 1 batch, and dropped"
    assert found.title.startswith(f"A new iterator of the DataLoader of Val (batches of 16, num_workers=1) {where}")
    assert f"({percent(5000 * len(looks) / (STEP + 5000 * len(looks)))} of it" in found.gain_text
    assert "num_workers=0" in found.advice and "the same first batch" in found.advice


def test_its_line_and_the_first_batchs_wait_are_named() -> None:
    found = finding_in(looking((4, 9)), RULE)
    assert found.title.endswith("(train.py:9)")
    assert "25.0 ms until the first batch came, in each of these steps" in evidence_of(found)


def test_the_verdict_does_not_take_it_for_an_evaluation() -> None:
    sentence = capture_of(looking((4, 9))).verdict.sentence
    assert "iterated in steps 5 and 10 (by a new iterator each time)" in sentence
    assert "an evaluation?" in capture_of(looking((4, 9), taken=10, length=10)).verdict.sentence


@pytest.mark.parametrize(("taken", "length"), [(1, 1), (10, 10), (10, 40)])
def test_an_evaluation_is_no_look(taken: int, length: int) -> None:
    """Whole, or of more batches than an iterator that is kept would have ready."""
    assert finding_of(looking((4, 9), taken=taken, length=length), RULE) is None


def test_a_look_that_costs_next_to_nothing_is_none() -> None:
    builder = looking((4,), steps=400)
    assert finding_of(builder, RULE) is None
