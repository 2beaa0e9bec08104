from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tb_dataplugin.analyses.uneven_batches import judge
from tb_dataplugin.findings.rules.uneven_batches import CODE
from tests.tb_dataplugin.findings.cases import evidence_of, finding_in, finding_of
from tests.trace_builder import TraceBuilder

LARGE, USUAL = 4_000_000, 200_000


def padded(
    workers: int, own: dict[int, float], sizes: dict[int, float], steps: int = 20, starts: tuple[int, ...] = ()
) -> TraceBuilder:
    """Steps that wait 1 ms and take 2 ms more, those in `own` longer; batches of 200 kB, those in `sizes` larger. Those
    in `starts` begin an epoch.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": workers, "batch_size": 8}])
    if workers:
        builder.worker(0)
    now = 0.0
    for step in range(steps):
        spent, size = own.get(step, 2_000.0), sizes.get(step, USUAL + 100 * step)
        waited, name = (9_000, "wait::DataLoader (first batch)") if step in starts else (1_000, "wait::DataLoader")
        builder.step(now, waited + spent).wait(now, waited, name)
        if workers:
            spans = {"sample::Clips": (now, 400), "collate::pad": (now + 400, 300, 300, size)}
            builder.batch(step, 0, now - 100, now, now + 700, now + 990, spans)
        else:
            builder.stage("sample::Clips", now, 400).stage("collate::pad", now + 400, 300)
            builder.events[-1]["args"]["bytes"] = size
        now += waited + spent
    return builder


@pytest.mark.parametrize("workers", (0, 1))
def test_steps_with_the_largest_batches_are_named_with_what_the_others_would_save(workers: int) -> None:
    finding = finding_in(padded(workers, {3: 60_000.0, 11: 50_000.0}, {3: LARGE, 11: 0.9 * LARGE}), "uneven_batches")
    assert finding.title == (
        "The 2 steps with the largest batches have 75.3% of the time of 20 steps outside the data wait"
    )
    assert finding.severity == "high"
    assert finding.gain_us_per_step == pytest.approx((58_000 + 48_000) / 20, rel=0.05)
    assert "size of a batch: 3.80 MB there, 201 kB usually (median)" in evidence_of(finding)


@pytest.mark.parametrize(
    ("own", "sizes"),
    [
        ({3: 60_000.0, 11: 50_000.0}, {}),  # long for another reason
        ({3: 60_000.0, 11: 50_000.0}, {5: LARGE, 14: LARGE}),  # other steps have the large batches
        ({}, {3: LARGE, 11: LARGE}),  # large, and no longer
        ({3: 2_050.0, 11: 2_050.0}, {3: LARGE, 11: LARGE}),  # hardly longer
        ({step: 2_000.0 + 400 * step for step in range(20)}, {}),  # 1% more bytes, 5 times as long
    ],
)
def test_it_is_not_said_where_time_does_not_follow_size(own: dict[int, float], sizes: dict[int, float]) -> None:
    assert finding_of(padded(1, own, sizes), "uneven_batches") is None


def test_one_step_shows_nothing_however_many_others_there_are() -> None:
    assert finding_of(padded(1, {60: 60_000.0}, {60: LARGE}, steps=120), "uneven_batches") is None
    two = padded(1, {60: 60_000.0, 90: 60_000.0}, {60: LARGE, 90: LARGE}, steps=120)
    assert finding_of(two, "uneven_batches") is not None


def test_steps_that_begin_an_epoch_take_longer_for_that() -> None:
    starts = (4, 9, 14, 19)
    builder = padded(1, dict.fromkeys(starts, 6_000.0), dict.fromkeys(starts, 3 * USUAL), starts=starts)
    assert finding_of(builder, "uneven_batches") is None


def test_few_steps_show_nothing() -> None:
    assert finding_of(padded(1, {3: 60_000.0}, {3: LARGE}, steps=7), "uneven_batches") is None


def test_sizes_that_have_nothing_to_do_with_the_time_are_hardly_ever_taken_for_the_reason() -> None:
    random = np.random.default_rng(3)
    found = sum(judge(random.lognormal(size=24), random.lognormal(size=24)) is not None for _ in range(100))
    assert found <= 4


def test_the_code_to_copy_gives_each_sample_once_in_batches_of_like_length() -> None:
    names: dict[str, Any] = {"random": random.Random(1)}
    exec(CODE.partition("\n\n")[0], names)
    lengths = [number * 37 % 500 for number in range(1003)]
    batches = list(sampler := names["LengthGrouped"](lengths, 8))
    assert sorted(index for batch in batches for index in batch) == list(range(1003))
    assert len(batches) == len(sampler)
    spread = [max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in batches]
    assert sorted(spread)[len(spread) // 2] < 20  # of 500
