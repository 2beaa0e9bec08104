"""Epochs played as they were: DataLoader workers with parts of an iterable dataset of unequal size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.export.terminal import PLAIN
from tb_dataplugin.export.whatif_text import as_text
from tb_dataplugin.whatif import Change, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tests.tb_dataplugin.findings.cases import results_of
from tests.tb_dataplugin.findings.uneven_cases import last_part, unequal_parts, whole_epoch_ms
from tests.trace_builder import TraceBuilder

EVENLY = Change(even=True)
SHARDS = ("sample::Shards", 0.5)


def loop_in(builder: TraceBuilder) -> Loop:
    loop = fit_loop(results_of(builder))
    assert isinstance(loop, Loop)
    return loop


def test_whole_epochs_are_played_as_they_were() -> None:
    loop = loop_in(unequal_parts())
    assert [tuple(map(len, epoch)) for epoch in loop.epochs] == [(8, 2, 1)] * 3 and loop.whole_epochs
    assert not loop_in(unequal_parts((4, 4, 3))).epochs, "any worker's turn comes"


@pytest.mark.parametrize(("change", "counts"), [(Change(workers=1), (11,)), (EVENLY, (4, 4, 3))])
def test_other_parts_take_what_the_loop_takes_with_them(change: Change, counts: tuple[int, ...]) -> None:
    predicted = predict(loop_in(unequal_parts()), change).step_us.value / 1e3
    assert predicted == pytest.approx(whole_epoch_ms(counts), rel=0.1)


def test_a_faster_stage_takes_its_time_off_every_batch_of_the_worker_that_is_alone() -> None:
    predicted = predict(loop_in(unequal_parts()), Change(stages=(("sample::Shards", 0.5),))).step_us
    assert predicted.value / 1e3 == pytest.approx(whole_epoch_ms((8, 2, 1), build=15_000.0), rel=0.1)


def test_without_workers_a_step_takes_building_and_the_rest() -> None:
    assert predict(loop_in(unequal_parts()), Change(workers=0)).step_us.value / 1e3 == pytest.approx(38, rel=0.1)


def test_another_number_of_workers_has_an_interval_from_even_parts_to_one_that_has_all() -> None:
    loop = loop_in(unequal_parts())
    two, four = (predict(loop, Change(workers=workers)) for workers in (2, 4))
    even, alone = (predict(loop, change).step_us.value for change in (EVENLY, Change(workers=1)))
    assert two.step_us.low < even and two.step_us.high > alone
    assert four.step_us.value == pytest.approx(loop.measured_step_ns / 1e3, rel=0.01) and four.step_us.low < even
    assert all(any("which part each" in note for note in said.notes) for said in (two, four))
    assert not predict(loop, Change(workers=1)).notes


def test_a_queue_or_no_order_leaves_the_largest_part_as_it_is() -> None:
    loop = loop_in(unequal_parts())
    for change in (Change(prefetch=8), Change(in_order=False)):
        assert predict(loop, change).step_us.value == pytest.approx(loop.measured_step_ns / 1e3, rel=0.02)


def test_a_piece_of_an_epoch_is_played_where_there_is_no_whole_one_and_a_note_says_so() -> None:
    builder = unequal_parts((60, 6, 3), epochs=2)
    for column in builder.batches.values():
        del column[-1]  # the next epoch: whether this one was over is not known
    loop = loop_in(builder)
    assert not loop.whole_epochs and [tuple(map(len, epoch)) for epoch in loop.epochs] == [(60, 6, 3)]
    said = predict(loop, Change(stages=(("sample::Shards", 0.5),)))
    assert any("no whole epoch" in note for note in said.notes)
    assert said.step_us.value / 1e3 == pytest.approx(whole_epoch_ms((60, 6, 3), build=15_000.0), rel=0.15)


def test_what_is_predicted_says_whether_the_starts_of_epochs_are_in_it() -> None:
    loop = loop_in(unequal_parts())
    text = " ".join(as_text(loop, [predict(loop, EVENLY)], "capture", PLAIN).split())
    assert "over whole epochs" in text and "4 epochs start in the window" in text
    steady = " ".join(as_text(replace(loop, epochs=(), starts=0), [predict(loop, EVENLY)], "capture", PLAIN).split())
    assert "An epoch's start is not part of it" in steady


@pytest.mark.parametrize("in_order", [False, True])
def test_where_one_worker_is_left_it_is_alone_in_predictions_too(in_order: bool) -> None:
    loop = loop_in(last_part(in_order=in_order))
    one, quick = (predict(loop, change).step_us.value for change in (Change(workers=1), Change(stages=(SHARDS,))))
    assert one == pytest.approx(loop.measured_step_ns / 1e3, rel=0.03), "it is the loop as captured"
    assert quick / 1e3 == pytest.approx(whole_epoch_ms((40, 0), build=15_000.0), rel=0.1)
    assert predict(loop, EVENLY).step_us.value / 1e3 == pytest.approx(whole_epoch_ms((20, 20)), rel=0.1)


def test_a_long_epoch_is_thinned_out_alike() -> None:
    loop = loop_in(unequal_parts((600, 200, 160), epochs=2))
    assert [tuple(map(len, epoch)) for epoch in loop.epochs] == [(300, 100, 80)]
    assert predict(loop, Change(workers=1)).step_us.value / 1e3 == pytest.approx(30, rel=0.05)


def test_the_memory_of_a_worker_is_that_of_those_that_lived() -> None:
    builder = last_part(ended=True)
    for number in range(20):
        builder.counter("host::processes", 10_000 * (1 + number), workers_bytes=3e8)
    sampled = loop_in(builder).worker_bytes
    assert sampled is not None and set(sampled.tolist()) == {3e8}
