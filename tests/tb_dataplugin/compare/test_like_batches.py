"""Stages that run once for each batch, where one side's batches are larger."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.sides import Run, too_few_steps
from tb_dataplugin.export.compare_markdown import compare_markdown
from tb_dataplugin.export.compare_text import compare_text
from tb_dataplugin.export.terminal import PLAIN
from tb_dataplugin.report.report_pb2 import Capture, Comparison, Quantity
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

SAMPLE_US = 400.0


def loop(batch_size: int, collate_us: float) -> Capture:
    """Of 24 steps; collating takes so long for each sample."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": batch_size, "num_workers": 0}])
    wait = batch_size * (SAMPLE_US + collate_us)
    for number in range(24):
        start = number * (wait + 1000)
        builder.step(start, wait + 1000).wait(start, wait, "wait::DataLoader")
        for sample in range(batch_size):
            builder.stage("sample::Photos", start + sample * SAMPLE_US, SAMPLE_US)
        uneven = 1 + (number % 3 - 1) / 100
        builder.stage("collate::default_collate", start + batch_size * SAMPLE_US, batch_size * collate_us * uneven)
    return capture_of(builder)


def collating(comparison: Comparison) -> Quantity:
    return next(one for one in comparison.stages if one.name == "collate::default_collate")


def test_a_larger_batch_makes_no_collate_slower() -> None:
    comparison = compare([loop(4, 100)], [loop(16, 95)])
    row = collating(comparison)
    assert row.outcome != "slower" and row.calls.per_sample
    assert row.before_us == pytest.approx(100, rel=0.02) and row.after_us == pytest.approx(95, rel=0.02)
    assert row.change == pytest.approx(-0.05, abs=0.01)
    photos = next(one for one in comparison.stages if one.name == "sample::Photos")
    assert photos.before_us == pytest.approx(SAMPLE_US) and not photos.calls.per_sample
    shown = [line for line in compare_text(comparison, PLAIN).splitlines() if line.startswith("  collate::default")]
    assert shown and shown[-1].endswith("wall per sample")
    assert "collate::default\\_collate, per sample" in compare_markdown(comparison)


def epochs(batch_size: int, last: int, collate_us: float) -> Capture:
    """Of 24 steps, every second one of which has an epoch's last batch."""
    builder = TraceBuilder().annotated(loaders=[{"batch_size": batch_size, "num_workers": 0}])
    start = 0.0
    for number in range(24):
        size = last if number % 2 else batch_size
        wait = size * (SAMPLE_US + collate_us)
        builder.step(start, wait + 1000).wait(start, wait, "wait::DataLoader")
        for sample in range(size):
            builder.stage("sample::Photos", start + sample * SAMPLE_US, SAMPLE_US)
        uneven = 1 + (number // 2 % 3 - 1) / 100
        builder.stage("collate::default_collate", start + size * SAMPLE_US, size * collate_us * uneven)
        start += wait + 1000
    return capture_of(builder)


def test_small_last_batches_leave_collate_a_stage_of_whole_batches() -> None:
    """20 samples in batches of 16, and of 10."""
    small, large = epochs(10, 10, 100), epochs(16, 4, 100)
    assert (large.throughput.samples, large.throughput.samples_per_batch) == (240, 10)
    row = collating(compare([small], [large]))
    assert row.calls.per_sample and row.outcome != "slower"


def test_one_that_is_slower_for_each_sample_is_said_to_be_that() -> None:
    comparison = compare([loop(4, 100)], [loop(16, 200)])
    assert collating(comparison).outcome == "slower" and collating(comparison).change == pytest.approx(1, rel=0.02)
    said = " ".join(fact.text for fact in comparison.evidence)
    assert "collate::default_collate: self time per sample of its batch in a typical batch: 99.8 → 200 µs" in said


def test_batches_of_one_size_are_compared_call_by_call() -> None:
    row = collating(compare([loop(4, 100)], [loop(4, 200)]))
    assert not row.calls.per_sample and row.before_us == pytest.approx(400, rel=0.02)


def test_which_side_has_too_few_steps_is_said() -> None:
    enough, few = loop(4, 100), loop(4, 110)
    enough.loader.num_workers, few.loader.num_workers = 2, 7
    for number, step in enumerate(enough.steps.items):  # too uneven for an interval
        step.duration_us *= 100 * (number // 4 % 2) + 1
    sentence = compare([enough], [few]).sentence
    assert "Record more steps (at least 4 for each DataLoader worker: after has 24 for 7), or 3 to 5 runs" in sentence


def too_few(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Of sides with so many steps and DataLoader workers."""
    sides = []
    for steps, workers in (before, after):
        capture = loop(4, 100)
        del capture.steps.items[steps:]
        capture.loader.num_workers = workers
        sides.append([Run("a", (capture,))])
    return too_few_steps(*sides)


def test_steps_are_counted_for_each_worker_only_where_there_are_several() -> None:
    assert too_few((1, 0), (2, 1)) == "at least 4: before has 1 and after has 2"
    assert too_few((4, 0), (3, 0)) == "at least 4: after has 3"
    assert (
        too_few((3, 0), (7, 2)) == "at least 4: before has 3; at least 4 for each DataLoader worker: after has 7 for 2"
    )
    assert too_few((4, 0), (8, 2)) == ""
