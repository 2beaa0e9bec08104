"""What one side's window has by chance is left out of both, and said; what every window has is not."""

from __future__ import annotations

import pytest

from tb_dataplugin.compare import compare
from tb_dataplugin.compare.limit import judge_limit
from tb_dataplugin.options import StepRange
from tests.tb_dataplugin.analyses.test_apart import epochs, with_evaluation
from tests.tb_dataplugin.analyses.test_collector import two_loaders
from tests.tb_dataplugin.analyses.test_iter import epochs as started_anew
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

FIRST_EPOCH = StepRange(1, 12)


def test_one_epochs_start_makes_no_run_slower_and_the_sentence_is_of_what_lies_within_an_epoch() -> None:
    """Both take 11 ms per step of 2 samples; one has a start of 400 ms, in a step that is left as long as others."""
    ordinary, started = (capture_of(epochs(first=first), FIRST_EPOCH) for first in (1_000, 400_000))
    found = compare([ordinary], [started])
    assert found.time.after_us == pytest.approx(found.time.before_us, rel=0.1)
    assert found.outcome not in ("faster", "slower")
    (note,) = [fact.text for fact in found.evidence if fact.kind == "left_out"]
    assert note == "left out of all times: starts of epochs, 401 ms of the windows after"
    assert found.sentence.startswith("No significant difference within an epoch: ")
    assert found.time.title == "time per sample within an epoch"
    assert not any(note.code == "told_apart" for note in found.diagnostics)


def test_an_evaluations_own_work_in_one_window_makes_no_run_slower() -> None:
    """A stranger's equal runs were 30% slower, since the evaluation in the windows of one side worked for long."""
    before, after = (capture_of(with_evaluation(every=every, work=40_000)) for every in (100, 8))
    assert after.window_us > 1.8 * before.window_us
    found = compare([before], [after])
    assert found.time.after_us == pytest.approx(found.time.before_us, rel=0.05)
    assert found.outcome not in ("faster", "slower")
    rest = next(part for part in found.parts if part.name == "rest")
    assert rest.after_us == pytest.approx(rest.before_us, rel=0.05)
    (note,) = [note.message for note in found.diagnostics if note.code == "told_apart"]
    assert note == "Left out of all times: the work with batches of another DataLoader, 360 ms of the windows after"


def test_starts_of_epochs_that_come_again_and_again_are_part_of_the_time() -> None:
    """Two in each window: what is faster within an epoch may be slower on the whole."""
    short, long = capture_of(epochs(first=1_000)), capture_of(epochs(first=300_000))
    assert (short.loader.epochs, long.loader.epochs) == (2, 2)
    found = compare([short], [long])
    assert found.time.after_us == long.window_us / long.throughput.samples
    assert found.time.before_us == short.window_us / short.throughput.samples
    parts = {part.name: part.after_us for part in found.parts}
    assert parts["data_wait"] + parts["rest"] == pytest.approx(found.time.after_us)
    assert "within an epoch" not in found.sentence
    assert not any(fact.kind == "left_out" for fact in found.evidence)
    assert long.loader.apart.epochs == 2  # and the report is what it was


def test_starts_that_were_too_short_to_be_told_apart_count_on_both_sides() -> None:
    """One is 17 ms where other waits are 1 ms: below what is told apart here, and a tenth of the window."""
    short, long = (capture_of(epochs(first=first), FIRST_EPOCH) for first in (1_000, 400_000))
    short.loader.first_batch_wait_us += 16_000
    short.window_us += 16_000
    short.steps.items[0].duration_us += 16_000
    short.steps.items[0].data_wait_us += 16_000
    found = compare([short], [long])
    assert found.time.after_us == long.window_us / long.throughput.samples
    assert "within an epoch" not in found.sentence


def test_a_side_without_workers_counts_how_often_it_was_iterated() -> None:
    loader = {"dataset": "Photos", "num_workers": 0, "iterated": 3, "iterated_in_window": 2}
    builder = TraceBuilder().annotated(loaders=[loader])
    for at in range(0, 80_000, 10_000):
        builder.wait(at, 5_000).step(at, 10_000)
    assert capture_of(builder).loader.epochs == 2
    assert capture_of(builder, StepRange(1, 4)).loader.epochs == 0  # of some steps it is not known


def test_the_limit_of_a_job_says_so_as_well() -> None:
    """`--fail-if-slower` is about what lies within an epoch where the sentence is."""
    before, after = capture_of(epochs(), FIRST_EPOCH), capture_of(epochs(), FIRST_EPOCH)
    after.window_us += 200_000
    for step in after.steps.items:
        step.duration_us += 200_000 / 12
    judged = judge_limit(compare([before], [after]), 0.05)
    assert judged.outcome == "slower"
    assert "per sample within an epoch, more than the 5.0% allowed" in judged.sentence


def test_nor_does_an_evaluation_and_its_waits_are_no_stages() -> None:
    often, never = capture_of(with_evaluation()), capture_of(with_evaluation(every=1_000))
    found = compare([never], [often])
    wait = next(part for part in found.parts if part.name == "data_wait")
    assert wait.after_us == pytest.approx(wait.before_us)
    stage = next(part for part in found.parts if part.name == "data_wait:sample::Clicks")
    assert stage.after_us == pytest.approx(stage.before_us)
    assert not any(note.code == "told_apart" for note in compare([never], [never]).diagnostics)


def test_a_slow_call_for_another_loader_does_not_stand_for_the_stage() -> None:
    """Of those calls there are no blocks to compare, and one of them took longer than all calls of the loop."""
    sides = [capture_of(epochs(), FIRST_EPOCH), capture_of(epochs(), FIRST_EPOCH)]
    (after,) = (stage for stage in sides[1].stages if stage.label == "Flip")
    other = sides[1].stages.add()
    other.CopyFrom(after)
    other.path.insert(0, "wait::DataLoader")
    other.self_us = 100 * after.self_us
    for column in ("block_count", "block_self_us", "block_cpu_us", "block_worker"):
        other.ClearField(column)
    (row,) = (stage for stage in compare([sides[0]], [sides[1]]).stages if stage.name == "transform::Flip")
    assert row.interval_text != "not recorded" and row.after_us == pytest.approx(row.before_us)


def test_nor_does_a_pause_for_the_garbage_collector() -> None:
    paused, after_it = capture_of(two_loaders()), capture_of(two_loaders(collected=1_000_000))
    found = compare([paused], [after_it])
    (note,) = [fact.text for fact in found.evidence if fact.kind == "left_out"]
    assert note == "left out of all times: garbage collection, 100 ms of the windows before"


def test_iter_of_the_loader_is_not_compared_with_what_lacks_it() -> None:
    with_iter, without = capture_of(started_anew()), capture_of(started_anew(recorded=False))
    found = compare([without], [with_iter])
    assert any(note.code == "iter_on_one_side" for note in found.diagnostics)
    for alike in (with_iter, without):
        found = compare([alike], [capture_of(started_anew(5, recorded=alike.loader.has_iter))])
        assert not any(note.code == "iter_on_one_side" for note in found.diagnostics)


def test_data_wait_that_no_stage_caused_goes_by_the_words_of_the_report() -> None:
    found = compare([capture_of(started_anew())], [capture_of(started_anew(5))])
    titles = {part.name: part.title for part in found.parts}
    assert titles["data_wait:startup"] == "data wait: startup (not yet running)"
