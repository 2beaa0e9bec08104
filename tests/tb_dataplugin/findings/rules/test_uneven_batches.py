from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from annotate.trace_format import METADATA_KEY
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


def test_all_steps_with_batches_as_large_are_counted() -> None:
    """A stranger's 7 of 30 had 432 kB and 77% of the time: "the 3 steps with the largest batches" had 30%."""
    large = range(1, 29, 4)
    noise = {step: LARGE + 997 * step for step in large}
    for sizes in (dict.fromkeys(large, LARGE), noise):
        finding = finding_in(padded(1, dict.fromkeys(large, 30_000.0), {**sizes}, steps=30), "uneven_batches")
        assert finding.title.startswith("The 7 steps with the largest batches have 82.0% of the time of 30 steps")


def test_the_steps_named_have_most_of_what_is_beyond_the_usual_size() -> None:
    """One is by far the largest, six others together have more beyond the usual."""
    random = np.random.default_rng(3)
    sizes = np.array([4_000.0, *[1_200.0] * 6, *[100.0] * 23])
    found = judge(sizes + random.normal(size=30), sizes)
    assert found is not None and found.largest == 7
    one = judge(sizes + random.normal(size=30), np.where(sizes == 1_200, 400, sizes))
    assert one is not None and one.largest == 1


def test_a_dataset_that_makes_its_batches_itself_may_group_them() -> None:
    """Torch's own function only passes them on."""
    builder = padded(1, {3: 60_000.0, 11: 50_000.0}, {3: LARGE, 11: 0.9 * LARGE})
    for event in builder.events:
        if event["name"] == "collate::pad":
            event["name"] = "collate::default_convert"
    builder.top_level[METADATA_KEY]["loaders"][0] |= {"dataset": "Clips", "batch_size": None}
    finding = finding_in(builder, "uneven_batches")
    assert finding.advice.startswith("Clips chooses the samples of a batch.") and finding.code == ""
    assert finding.severity == "low" and not finding.HasField("gain_us_per_step")
    assert "makes the batches" not in evidence_of(finding)


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


Sample = tuple[float, int | None]
"""How long it takes (µs), and its bytes; None: not known, as of a list of numbers."""


def of_samples(samples: dict[int, list[Sample]], padded_by: float = 1.0) -> TraceBuilder:
    """20 steps whose time goes with the batch's size: 200 bytes and 20 µs to build for each unit of a sample's length,
    times `padded_by`. `samples`: of each batch.
    """
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 8}]).worker(0)
    now = 0.0
    for step, batch in samples.items():
        size = padded_by * 10 * len(batch) * max(time for time, _ in batch)
        length = 1_000 + 2_000 + size / 5
        builder.step(now, length).wait(now, 1_000)
        begun = at = now - sum(time for time, _ in batch) - 400
        builder.batch(step, 0, begun - 100, begun, now - 10, now + 990, {"collate::pad": (now - 310, 300, 300, size)})
        pid = builder.pids.get(0, 100)
        for place, (time, known) in enumerate(batch):
            args = {"batch": step, "index": 8 * step + place, "epoch": builder.epoch}
            args |= {} if known is None else {"bytes": known}
            builder.add("user_annotation", "sample::Clips", at, time, pid=pid, tid=pid, **args)
            at += time
        now += length
    return builder


def dealt(lengths: list[int], sized: bool) -> dict[int, list[Sample]]:
    return {at // 8: [(float(n), 10 * n if sized else None) for n in lengths[at : at + 8]] for at in range(0, 160, 8)}


def lengths() -> list[int]:
    random = np.random.default_rng(5)
    return [int(n) for n in random.choice([10, 20, 40, 600], size=160, p=[0.5, 0.3, 0.17, 0.03])]


@pytest.mark.parametrize("sized", (False, True))
def test_samples_that_are_grouped_by_length_already_have_no_padding_to_save(sized: bool) -> None:
    grouped = dealt(sorted(lengths()), sized)
    batches = list(grouped.values())
    random.Random(2).shuffle(batches)
    assert finding_of(of_samples(dict(enumerate(batches))), "uneven_batches") is None
    finding = finding_in(of_samples(dealt(lengths(), sized)), "uneven_batches")
    assert finding.code and finding.gain_us_per_step


def test_batches_that_have_no_more_bytes_than_their_samples_are_not_padded() -> None:
    """Samples put end to end: the large ones make steps long wherever they are."""
    whole: dict[int, list[Sample]] = {
        step: [(time, round(10 * max(t for t, _ in batch))) for time, _ in batch]
        for step, batch in dealt(lengths(), True).items()
    }
    assert finding_of(of_samples(whole), "uneven_batches") is None


def test_the_padding_is_shown_where_samples_have_sizes() -> None:
    finding = finding_in(of_samples(dealt(lengths(), True)), "uneven_batches")
    assert "bytes of batches beyond those of their samples (padding): 27.7 ms at that rate" in evidence_of(finding)


@pytest.mark.parametrize(("name", "is_own"), (("ByLength", True), ("RandomSampler", False), ("BatchSampler", False)))
def test_a_sampler_of_the_users_own_may_group_already(name: str, is_own: bool) -> None:
    builder = padded(1, {3: 60_000.0, 11: 50_000.0}, {3: LARGE, 11: 0.9 * LARGE}).stage(f"sampler::{name}", 10, 5)
    finding = finding_in(builder, "uneven_batches")
    assert [not finding.gain_us_per_step, finding.severity == "low", not finding.code] == [is_own] * 3
    assert (f"sampler::{name} chooses the samples of a batch" in finding.advice) is is_own


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


def test_an_iterable_dataset_gets_code_that_draws_no_indices() -> None:
    builder = padded(0, {3: 30_000.0, 11: 40_000.0}, {3: 2_000_000, 11: LARGE})
    assert "class LengthGrouped" in finding_in(builder, "uneven_batches").code
    builder.top_level[METADATA_KEY]["loaders"][0]["iterable"] = True
    said = finding_in(builder, "uneven_batches")
    assert "batch_sampler" not in said.code and "in its own __iter__" in said.advice
    names: dict[str, Any] = {"random": random, "itertools": itertools}
    exec(said.code, names)
    texts = ["x" * (number % 7 + 1) for number in range(1000)]
    given = list(names["length_grouped"](texts, 8))
    assert sorted(given) == sorted(texts)
    assert sum(len(set(map(len, given[at : at + 8]))) == 1 for at in range(0, 800, 8)) > 80


@pytest.mark.parametrize("batches", (1, 10))
def test_steps_that_take_many_batches_are_not_those_with_large_ones(batches: int) -> None:
    """A stranger's evaluation in two of 20 steps: 10 batches as large as any were "the largest batches"."""
    builder, now = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 8}]), 0.0
    for step in range(20):
        is_long, begin = step in (3, 11), now
        for _ in range(batches if is_long else 1):
            builder.wait(now, 1_000, "wait::DataLoader").stage("sample::Clips", now, 400).stage(
                "collate::pad", now + 400, 300
            )
            builder.events[-1]["args"]["bytes"] = USUAL + 100 * step + (LARGE if is_long and batches == 1 else 0)
            now += 7_000 if is_long and batches > 1 else 60_000 if is_long else 3_000
        builder.step(begin, now - begin)
    assert (finding_of(builder, "uneven_batches") is None) == (batches > 1)
