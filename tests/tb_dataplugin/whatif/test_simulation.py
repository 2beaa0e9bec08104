from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annotate.trace_format import Stage
from tb_dataplugin.analyses.kept_loads import KeptLoads
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.whatif import Change, parse_changes, predict, usual_changes, without_profiler
from tb_dataplugin.whatif.as_measured import as_measured
from tb_dataplugin.whatif.change import changed
from tb_dataplugin.whatif.fitting import told_apart
from tb_dataplugin.whatif.loop import Loop, Settings, Timed
from tb_dataplugin.whatif.other_workers import FILL_NS, with_other_workers
from tb_dataplugin.whatif.simulation import Orders, simulate

SAMPLE, BLUR, CROP = Stage("sample", "Pictures"), Stage("transform", "Blur"), Stage("transform", "Crop")
DECODE, READ = Stage("decode", "PIL.Image"), Stage("read", "file")


def loop(workers: int = 1, build_ms: float = 30, own_ms: float = 10, cpus: float = 64, **more: object) -> Loop:
    """A loop that keeps one CPU busy wherever it works. Two thirds of a batch are Blur, a third is Crop."""
    ms = 1e6
    wait_ms = max(0.0, build_ms / workers - own_ms) if workers else build_ms
    made = Loop(
        settings=Settings(workers, prefetch=2, in_order=True),
        build=Timed(((SAMPLE, BLUR), (SAMPLE, CROP)), np.array([[2 / 3, 1 / 3]]) * build_ms * ms),
        way_ns=np.zeros(1),
        receive=Timed(((),), np.zeros((1, 1))),
        own_ns=np.array([own_ms * ms]),
        build_cpus=1.0,
        own_cpus=1.0,
        cpus=cpus,
        other_cpus=0.0,
        batches_per_step=1.0,
        samples_per_step=8.0,
        batch_bytes=1000.0,
        measured_step_ns=(own_ms + wait_ms) * ms,
        measured_wait_ns=wait_ms * ms,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def step_ms(made: Loop, count: int = 96) -> float:
    return float(simulate(made, Orders(np.arange(count), np.arange(count))).step_ns.mean()) / 1e6


@pytest.mark.parametrize(("workers", "expected"), [(0, 40), (1, 30), (2, 15), (3, 10), (8, 10)])
def test_a_step_takes_as_long_as_the_slower_of_the_loader_and_the_loop(workers: int, expected: float) -> None:
    assert step_ms(loop(workers)) == pytest.approx(expected, rel=1e-6)


def test_workers_build_ahead_while_the_loop_waits_for_an_evaluation() -> None:
    """Two batches are ready behind it, and the third is waited for: 10 ms in three steps, not 20 in each."""
    made = loop(1, paused_ns=np.array([0, 0, 90e6]))
    assert step_ms(made, 98) == pytest.approx(40 / 3, rel=1e-6)
    assert step_ms(replace(made, settings=Settings(0, 2, in_order=True)), 98) == pytest.approx(40)


@pytest.mark.parametrize(
    ("captured", "asked", "loads"),
    [
        (0, 1, [9, 0, 0, 0, 0, 0, 0, 0]),
        (0, 2, [9, 9, 0, 0, 0, 0, 0, 0]),
        (1, 3, [9, 9, 9, 0, 0, 0, 0, 0]),
        (0, 16, [9] * 8),
        (2, 3, [9, 9, 4.5, 4.5, 0, 0, 0, 0]),
        (2, 4, [9, 9, 9, 9, 0, 0, 0, 0]),
        (2, 1, [4.5, 4.5, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_each_worker_unpacks_the_chunk_that_its_batches_are_of(captured: int, asked: int, loads: list[float]) -> None:
    """A chunk is of eight batches; `loads`: what unpacking it takes of each."""
    unpacked = np.zeros(8)
    unpacked[: max(1, captured)] = 9.0
    kept = KeptLoads(((SAMPLE, DECODE),), DECODE, calls=max(1, captured), batches=8, workers=captured)
    build = Timed(((SAMPLE,), (SAMPLE, DECODE, READ)), np.column_stack((np.ones(8), unpacked)))
    new = changed(loop(captured, build=build, kept=kept), Change(workers=asked))
    assert new.build.ns[:, 1].tolist() == loads and (new.build.ns[:, 0] == 1).all()


def test_more_workers_than_cpus_do_not_help() -> None:
    alone, many = step_ms(loop(2, own_ms=0, cpus=2)), step_ms(loop(8, own_ms=0, cpus=2))
    assert alone == pytest.approx(15, rel=1e-6)
    assert many == pytest.approx(15, rel=0.02)


def test_workers_that_sleep_need_no_cpu() -> None:
    assert step_ms(loop(6, own_ms=0, cpus=1, build_cpus=0.0)) == pytest.approx(5, rel=1e-6)


def test_other_programs_take_their_share() -> None:
    assert step_ms(loop(1, own_ms=0, cpus=2, other_cpus=3.0)) == pytest.approx(60, rel=1e-6)


def test_what_others_take_for_moments_is_lacking_by_as_much_with_any_number_of_workers() -> None:
    few, many = (loop(workers, own_ms=0, cpus=2, light_cpus=0.5) for workers in (1, 3))
    assert [step_ms(one) for one in (few, many)] == pytest.approx([30, 20], rel=0.01)
    crowded = replace(many, light_cpus=0.0, other_cpus=1.0)
    assert step_ms(replace(many, light_cpus=3.0)) == pytest.approx(150, rel=0.01), "a tenth of the CPUs is left"
    assert step_ms(crowded) == pytest.approx(20, rel=0.01)
    assert step_ms(replace(crowded, settings=few.settings)) == pytest.approx(30, rel=0.01)


def test_others_that_want_a_cpu_all_the_time_are_whole_threads() -> None:
    assert told_apart(0.17, slowed=2.5) == (0, 0.17)
    assert told_apart(0.4, slowed=2.5) == (1, 0)
    assert told_apart(0.9, slowed=2.5) == pytest.approx((2, 0.1))
    assert told_apart(0.95, slowed=1.0) == (1, 0), "nearly one"


def test_the_training_process_receives_one_batch_after_the_other() -> None:
    receiving = Timed(((),), np.array([[12e6]]))
    assert step_ms(loop(8, receive=receiving)) == pytest.approx(22, rel=1e-6)


def test_a_thread_that_wakes_up_shares_one_cpu_where_none_is_free() -> None:
    beside = [loop(0, build_ms=0, own_ms=10, cpus=2, other_cpus=float(others)) for others in (0, 1, 1.5, 2, 3)]
    assert [step_ms(one) for one in beside] == pytest.approx([10, 10, 15, 20, 25], rel=1e-6)


def test_receiving_lacks_a_cpu_as_far_as_it_needs_one_whatever_the_step_needs() -> None:
    receiving = Timed(((),), np.array([[12e6]]))
    asleep = loop(0, build_ms=0, receive=receiving, cpus=1, other_cpus=1.0, own_cpus=0.0)
    assert step_ms(asleep) == pytest.approx(2 * 12 + 10, rel=1e-6)
    assert step_ms(replace(asleep, receive_cpus=0.0)) == pytest.approx(22, rel=1e-6)


def test_a_slow_batch_holds_up_those_behind_it_only_in_order() -> None:
    slow = Timed(((BLUR,),), np.array([[5e6]] * 7 + [[95e6]]))
    in_order = loop(2, own_ms=8, build=slow)
    free = replace(in_order, settings=replace(in_order.settings, in_order=False))
    assert step_ms(free) < 0.95 * step_ms(in_order)


def test_a_deeper_prefetch_carries_over_a_slow_batch() -> None:
    slow = Timed(((BLUR,),), np.array([[5e6]] * 7 + [[45e6]]))
    shallow = loop(2, own_ms=12, build=slow, settings=Settings(2, 1, True))
    deep = replace(shallow, settings=Settings(2, 8, True))
    assert step_ms(deep) < step_ms(shallow) - 1


def test_a_change_of_a_stage_takes_what_it_calls_along() -> None:
    parts = ((SAMPLE,), (SAMPLE, BLUR), (SAMPLE, BLUR, READ), (SAMPLE, BLUR, DECODE))
    nested = loop(1, build=Timed(parts, np.array([[1e6, 2e6, 8e6, 4e6]])))
    without = {name: changed(nested, Change(stages=((name, 0.0),))).build.total_ns[0] / 1e6 for name in NAMES}
    # What it decodes is decoded without it, too.
    assert without == {"transform::Blur": 5, "decode": 11, "decode::PIL.Image": 11, "sample::Pictures": 14}


NAMES = ("transform::Blur", "decode", "decode::PIL.Image", "sample::Pictures")


def test_transfer_is_the_way_and_the_receiving() -> None:
    sent = loop(1, build_ms=5, own_ms=0, way_ns=np.array([1e6]), receive=Timed(((),), np.array([[9e6]])))
    assert step_ms(changed(sent, Change(stages=(("transfer", 0.0),)))) == pytest.approx(5, rel=1e-6)


def test_predictions_name_what_would_bring_most() -> None:
    assert predict(loop(1), Change()).limited_by == "transform::Blur"
    assert predict(loop(1), Change(workers=4)).limited_by == "step"
    assert predict(loop(1), Change(stages=(("transform::Blur", 0.0),))).limited_by in ("step", "transform::Crop")


def test_a_prediction_lies_in_its_interval_and_rates_follow_from_steps() -> None:
    made = predict(loop(1), Change(workers=2))
    assert made.step_us.low <= made.step_us.value <= made.step_us.high
    assert made.samples_per_s is not None
    assert made.samples_per_s.value == pytest.approx(8e6 / made.step_us.value)
    assert made.samples_per_s.low <= made.samples_per_s.value <= made.samples_per_s.high
    assert made.memory_bytes == 4000


def test_what_the_simulation_misses_of_the_capture_scales_its_predictions() -> None:
    slower = replace(loop(1), measured_step_ns=33e6)
    assert predict(slower, Change(workers=2)).step_us.value == pytest.approx(16.5e3, rel=1e-6)


def test_a_step_does_not_get_shorter_than_what_of_it_is_no_data_wait() -> None:
    luckier = replace(loop(1), measured_step_ns=20e6, measured_wait_ns=10e6)  # the model waits for 20 ms
    assert predict(luckier, Change(workers=2)).step_us.value == pytest.approx(10e3, rel=1e-6)
    many = predict(luckier, Change(workers=8))
    assert many.step_us.value == pytest.approx(10e3, rel=1e-6) and many.data_wait_share.value == 0
    assert many.step_us.low < 10e3 * (1 - 0.35) + 1
    unchanged = predict(luckier, Change(workers=1))
    assert unchanged.step_us.value == pytest.approx(20e3) and unchanged.data_wait_share.value == pytest.approx(0.5)
    pinned = predict(replace(luckier, pageable_ns=8e6), Change(workers=8, pin=True))
    assert pinned.step_us.value == pytest.approx(6e3, rel=1e-6)


def test_the_usual_changes_are_other_numbers_of_workers_and_the_longest_stages() -> None:
    texts = [change.text for change in usual_changes(loop(1, cpus=2))]
    assert texts == ["workers=0", "workers=2", "transform::Blur=0.5x", "transform::Crop=0.5x"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(stages=(("transform::Foo", 0.1),)), "no stage transform::Foo"),
        (Change(workers=1000), "workers=1000"),
        (Change(prefetch=0), "prefetch_factor=0"),
    ],
)
def test_what_cannot_be_predicted_is_one_line(change: Change, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        predict(loop(1), change)


@pytest.mark.parametrize("text", ["transform::Blur", "=0.1x", "transform::Blur=fast", "transform::Blur=-1x", "a=nanx"])
def test_a_stage_is_asked_for_by_its_factor(text: str) -> None:
    with pytest.raises(BadRequest, match=r"write it like"):
        parse_changes([None], None, None, [text])


def test_a_step_of_several_threads_is_slowed_more_by_workers_that_take_the_cpus() -> None:
    alone, together = (loop(2, build_ms=60, own_ms=30, cpus=2, own_threads=threads) for threads in (1.0, 2.0))
    assert step_ms(together) > 1.3 * step_ms(alone)
    free = loop(2, build_ms=0.001, own_ms=30, cpus=2, own_threads=2.0)
    assert step_ms(free) == pytest.approx(30, rel=0.01)


def test_how_far_threads_wait_for_each_other_is_part_of_the_interval() -> None:
    made = loop(2, build_ms=60, own_ms=30, cpus=2, own_threads=2.0)
    change = Change(stages=(("transform", 0.0),))
    waited = replace(made, own_delayed=0.5, own_ns=made.own_ns * 0.5**made.power)
    known, unknown = (predict(as_measured(each), change).step_us for each in (made, waited))
    assert unknown.value == pytest.approx(known.value)
    assert unknown.low < known.low and unknown.high > known.high


def test_a_worker_that_sends_a_batch_builds_the_next_one_later() -> None:
    sending = loop(build_ms=20, own_ms=0, way_ns=np.full(1, 8e6), send_ns=5e6)
    assert step_ms(sending) == pytest.approx(25, rel=1e-6)
    without = changed(sending, Change(stages=(("transfer", 0.0),)))
    assert step_ms(without) == pytest.approx(20, rel=1e-6)


def test_with_no_next_index_a_batch_is_sent_undisturbed() -> None:
    one_ahead = loop(build_ms=20, own_ms=0, way_ns=np.full(1, 8e6), send_ns=5e6, settings=Settings(1, 1, True))
    assert step_ms(one_ahead) == pytest.approx(20 + 8 - 5, rel=1e-6)


def test_code_around_the_loader_runs_while_the_next_batch_is_built() -> None:
    assert step_ms(loop(build_ms=30, own_ms=0, around_ns=25e6, settings=Settings(1, 1, True))) == pytest.approx(30)
    assert step_ms(loop(workers=0, build_ms=30, own_ms=0, around_ns=25e6)) == pytest.approx(55)


def test_a_worker_that_builds_holds_up_the_batch_that_it_sends_only_as_long_as_it_builds() -> None:
    held = loop(1, build_ms=21, own_ms=5, held_ns=np.array([np.inf]))
    assert step_ms(held) == pytest.approx(21, rel=1e-6)
    assert step_ms(changed(held, Change(stages=(("transform::Blur", 0.0),)))) == pytest.approx(7, rel=1e-6)
    without = changed(replace(held, own_ns=np.array([30e6])), Change(stages=(("transfer", 0.0),)))
    assert step_ms(without) == pytest.approx(30, rel=1e-6)


def test_a_larger_batch_is_built_longer_and_the_step_lies_between_two_ends() -> None:
    made = predict(loop(1, batch_size=8), Change(batch=16))
    assert made.step_us.value == pytest.approx(60e3, rel=1e-6)
    assert made.samples_per_s is not None and made.samples_per_s.value == pytest.approx(16e6 / 60e3)
    bound = predict(loop(1, build_ms=2, own_ms=30, batch_size=8), Change(batch=16)).step_us
    assert bound.value == pytest.approx(45e3, rel=1e-6) and bound.low <= 30e3 and bound.high >= 60e3


def test_a_stage_on_the_device_is_at_best_free_and_at_worst_as_long_as_in_the_worker() -> None:
    made = predict(loop(1), Change(moved=("transform::Blur",)))
    assert made.step_us.value == pytest.approx(10e3, rel=1e-6) and made.step_us.high >= 30e3
    assert "on the device" in made.notes[0]


def test_pinning_is_predicted_only_where_copies_from_pageable_memory_were_recorded() -> None:
    with pytest.raises(BadRequest, match="no copies from pageable memory"):
        predict(loop(1), Change(pin=True))
    made = predict(loop(1, build_ms=2, own_ms=10, pageable_ns=4e6), Change(pin=True)).step_us
    assert made.value == pytest.approx(8e3, rel=1e-6) and made.low <= 6e3 and made.high >= 10e3


def test_a_worker_makes_the_pages_of_its_batch_and_the_training_process_does_not() -> None:
    collate, batch = Stage("collate", "default_collate"), 10e6
    parts = ((SAMPLE, BLUR), (collate,))
    made = loop(2, build=Timed(parts, np.array([[20e6, 10e6]])), batch_bytes=batch)
    alone, _ = with_other_workers(changed(made, Change(workers=0)), made)
    assert alone.build.ns.tolist() == [[20e6, pytest.approx(10e6 - FILL_NS * batch)]]
    tiny = replace(made, build=Timed(parts, np.array([[20e6, 1e6]])))
    assert with_other_workers(changed(tiny, Change(workers=0)), tiny)[0].build.ns[0, 1] == pytest.approx(1e5)
    again, _ = with_other_workers(changed(alone, Change(workers=2)), alone)
    assert again.build.ns.tolist() == [[20e6, pytest.approx(10e6)]]


def test_a_batch_of_another_collate_function_is_copied_as_it_is_sent() -> None:
    made = loop(0, build=Timed(((SAMPLE, BLUR),), np.array([[20e6]])), batch_bytes=10e6)
    new, _ = with_other_workers(changed(made, Change(workers=2)), made)
    assert (new.build.ns.tolist(), new.way_ns.tolist()) == ([[20e6]], [pytest.approx(FILL_NS * 10e6)])


@pytest.mark.parametrize(("own_ms", "step_ms", "wait_ms"), [(20, 30, 20), (40, 30, 10), (80, 40, 0)])
def test_without_the_profiler_what_workers_build_meanwhile_is_waited_for(
    own_ms: float, step_ms: float, wait_ms: float
) -> None:
    """Building takes 30 ms, and half of the rest of a step is the profiler's."""
    recorded = loop(
        1, own_ms=own_ms, measured_step_ns=max(30, own_ms) * 1e6, measured_wait_ns=max(0, 30 - own_ms) * 1e6
    )
    found = without_profiler(recorded, longer=2.0)
    assert found.step_ns / 1e6 == pytest.approx(step_ms, rel=0.02)
    assert found.wait_ns / 1e6 == pytest.approx(wait_ms, abs=0.5)
    assert found.more_wait_ns == pytest.approx(found.wait_ns - recorded.measured_wait_ns)


def quick_and_slow(own_ms: float = 8, in_order: bool = True, own_parts: bool = False) -> Loop:
    """Worker 1 needs 34 ms for each of its batches, worker 0 only 1 ms."""
    build = Timed(((BLUR,),), np.array([[1e6], [34e6]] * 20))
    made = loop(2, own_ms=own_ms, build=build, built_by=(0, 1) * 20, differ=True, own_parts=own_parts)
    return replace(made, settings=Settings(2, 2, in_order))


def test_without_order_a_quick_worker_is_asked_for_more() -> None:
    """torch gives an index to a worker that has fewer than `prefetch_factor` of them, whoever's turn it is."""
    assert step_ms(quick_and_slow()) == pytest.approx(17, rel=0.01)
    free = changed(quick_and_slow(), Change(in_order=False))
    assert step_ms(free) == pytest.approx(8, rel=0.01), "the slow one delivers a few, and is not waited for"
    assert step_ms(changed(quick_and_slow(own_ms=0.5), Change(in_order=False))) < 1.1


def test_without_order_batches_that_any_worker_may_build_are_as_long_whoever_builds_them() -> None:
    anyones = replace(quick_and_slow(own_ms=1), built_by=(), differ=False)
    assert step_ms(changed(anyones, Change(in_order=False))) == pytest.approx(35 / 4, rel=0.05)


def test_without_order_each_worker_of_an_iterable_dataset_still_has_to_deliver_its_part() -> None:
    made = quick_and_slow(own_parts=True)
    assert step_ms(changed(made, Change(in_order=False))) == pytest.approx(17, rel=0.01)
    predicted = predict(made, Change(in_order=False))
    assert predicted.limited_by == "transform::Blur"
    assert "only come sooner" in " ".join(predicted.notes)
    captured = quick_and_slow(in_order=False, own_parts=True)
    assert step_ms(captured) == pytest.approx(8, rel=0.01), "as it was in the window"
    assert step_ms(changed(captured, Change(in_order=True))) == pytest.approx(17, rel=0.01)


def test_resampled_batches_stay_with_their_workers() -> None:
    unchanged = predict(replace(quick_and_slow(), measured_step_ns=17e6, measured_wait_ns=9e6), Change()).step_us
    assert unchanged.low == pytest.approx(17e3, rel=0.01) and unchanged.high == pytest.approx(17e3, rel=0.01)


def test_evenly_divided_data_take_each_worker_as_long() -> None:
    even = changed(quick_and_slow(own_ms=1), Change(even=True))
    assert step_ms(even) == pytest.approx(35 / 4, rel=0.05)
    rows = even.build.total_ns
    assert rows[::2].sum() == rows[1::2].sum()


def test_with_other_workers_it_is_not_known_which_of_them_gets_which_part() -> None:
    predicted = predict(quick_and_slow(own_parts=True), Change(workers=4))
    assert "there is a part for each" in " ".join(predicted.notes)
    assert not predict(quick_and_slow(), Change(workers=4)).notes
