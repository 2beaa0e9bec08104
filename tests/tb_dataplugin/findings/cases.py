"""Every rule on traces whose trouble is known: it speaks when it should, and not when the trace contradicts it."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.pipeline import analyse
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tests.trace_builder import TraceBuilder

PINNED = "Memcpy HtoD (Pinned -> Device)"
STEP = 10_000.0  # microseconds


def capture_of(builder: TraceBuilder) -> Capture:
    return analyse(builder.trace()).capture


def finding(builder: TraceBuilder, rule: str) -> Finding | None:
    return next((one for one in capture_of(builder).findings if one.rule == rule), None)


def found(builder: TraceBuilder, rule: str) -> Finding:
    one = finding(builder, rule)
    assert one is not None, [other.rule for other in capture_of(builder).findings]
    return one


def abstained(builder: TraceBuilder) -> dict[str, str]:
    return {one.rule: one.reason for one in capture_of(builder).abstained}


def input_bound(
    *,
    workers: int = 2,
    cores: int = 8,
    steps: int = 4,
    busy: float = 1.0,
    run_delay: float | None = 0.0,
    threads: float = 1.0,
    stages: dict[str, tuple[float, ...]] | None = None,
    loader: dict[str, Any] | None = None,
    costs: dict[str, int] | None = None,
) -> TraceBuilder:
    """Steps of 10 ms that wait 8 ms for a batch that one worker makes for `busy` of all the time, computing only.

    `stages` are shares of the batch: (start, duration), and (.., CPU share), (.., bytes).
    """
    settings = {"num_workers": workers, "batch_size": 2, **(loader or {})}
    builder = TraceBuilder().annotated(loaders=[settings], host={"cores": cores})
    for worker in range(workers):
        builder.worker(worker)
    wall = workers * STEP * busy
    for number in range(steps + workers):
        end = (number - workers + 1) * STEP + 0.8 * STEP
        shares = stages or {"sample::Pets": (0.0, 1.0, 1.0), "transform::Slow": (0.0, 1.0, 1.0)}
        spans = {
            name: (end - wall + start * wall, length * wall, *_told(more, wall))
            for name, (start, length, *more) in shares.items()
        }
        told = {} if run_delay is None else {"process_cpu_us": threads * wall, "run_delay_us": run_delay * wall}
        consumed = end if 0 <= end < steps * STEP else None
        drawn = end - workers * STEP if busy == 1.0 else end - wall
        builder.batch(number, number % workers, drawn, end - wall, end, consumed, spans, **told, **(costs or {}))
    for number in range(steps):
        builder.step(STEP * number, STEP).wait(STEP * number, 0.8 * STEP, "wait::DataLoader")
        builder.kernel(STEP * (number + 0.8), 0.2 * STEP)
    return builder


def _told(more: list[float], wall: float) -> tuple[float, ...]:
    return (round(more[0] * wall, 3), *more[1:]) if more else ()


def test_busy_workers_and_free_cores_are_too_few_workers() -> None:
    one = found(input_bound(), "too_few_workers")
    assert "num_workers=8" in one.code and one.confidence == "likely"
    assert 0 < one.gain_us_per_step <= 8000


def test_the_gain_of_more_workers_is_bounded_by_how_fast_they_make_batches() -> None:
    # 2 workers make a batch in 20 ms each; 3 make 1.5 times as many: the step cannot fall below 6.67 ms.
    one = found(input_bound(cores=3), "too_few_workers")
    assert one.gain_us_per_step == pytest.approx(10_000 - 10_000 * 2 / 3, rel=0.06)


@pytest.mark.parametrize("evidence", ["load", "run_delay"])
def test_workers_on_taken_cores_get_no_advice_to_be_more(evidence: str) -> None:
    builder = input_bound(cores=2, run_delay=0.5 if evidence == "run_delay" else 0.0)
    if evidence == "load":
        builder.counter("host::cpu", STEP, **{"core 0": 99, "core 1": 97})
    assert "More DataLoader workers will not help" in found(builder, "more_workers_will_not_help").title
    assert finding(builder, "too_few_workers") is None


WAITING = {"sample::Pets": (0.0, 1.0, 0.2), "read::file": (0.0, 0.9, 0.1)}


def from_disk(disk_busy: float | None, from_storage: float = 0.9) -> TraceBuilder:
    """Workers that wait for what they read."""
    builder = input_bound(stages=WAITING, costs={"read_chars": 1000, "read_bytes": round(1000 * from_storage)})
    return builder if disk_busy is None else builder.counter("host::disk_busy", STEP, sda=disk_busy, sdb=1.0)


def test_workers_that_wait_for_a_busy_disk_get_no_advice_to_be_more() -> None:
    one = found(from_disk(disk_busy=99.0), "storage_bound")
    assert "More DataLoader workers will not help" in one.title and "the disk sda is 99.0 % busy" in one.evidence
    assert finding(from_disk(disk_busy=99.0), "too_few_workers") is None


def test_storage_with_room_or_unknown_leaves_more_workers_possible() -> None:
    for builder in (from_disk(disk_busy=40.0), from_disk(disk_busy=None)):
        assert finding(builder, "storage_bound") is None
        assert found(builder, "too_few_workers").confidence == "possible"


def test_a_busy_disk_that_the_workers_do_not_read_from_is_none_of_theirs() -> None:
    assert finding(from_disk(disk_busy=99.0, from_storage=0.0), "storage_bound") is None
    assert found(from_disk(disk_busy=99.0, from_storage=0.0), "too_few_workers").confidence == "likely"


def test_whether_cores_are_free_is_not_guessed() -> None:
    builder = input_bound(run_delay=None)
    assert "cores" in abstained(builder)["too_few_workers"]
    assert not {"too_few_workers", "more_workers_will_not_help"} & {one.rule for one in capture_of(builder).findings}


def test_workers_that_are_not_busy_are_not_too_few() -> None:
    assert finding(input_bound(busy=0.3), "too_few_workers") is None


def test_hidden_threads_that_fight_for_cores() -> None:
    one = found(input_bound(run_delay=0.4, threads=3.0), "oversubscribed")
    assert "set_num_threads(1)" in one.code
    assert one.gain_us_per_step == pytest.approx(4000, rel=0.05)


def test_hidden_threads_on_free_cores_do_no_harm() -> None:
    assert finding(input_bound(run_delay=0.0, threads=3.0), "oversubscribed") is None


def test_threads_are_not_judged_without_records() -> None:
    assert "oversubscribed" in abstained(input_bound(run_delay=None))


def test_workers_without_work_and_late_batches_ask_for_a_deeper_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1, "prefetch_factor": 2}]).worker(0)
    builder.step(0, 1000).wait(0, 300).step(1000, 1000).wait(1000, 10)
    builder.batch(0, 0, 0, 0, 300, 299).batch(1, 0, 1000, 1000, 1005, 1008).batch(2, 0, 1900, 1900, 1950, None)
    one = found(builder, "prefetch_too_shallow")
    assert "prefetch_factor=4" in one.code


def test_workers_idle_at_the_end_of_an_epoch_are_no_reason_for_a_deeper_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 300).batch(0, 0, 0, 0, 300, 299)
    assert finding(builder, "prefetch_too_shallow") is None


def held_up(**loader: Any) -> TraceBuilder:
    """Worker 1 has its batch ready at 100 and gets its next index at 600, when the batch of worker 0 has come."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1, **loader}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 600, "wait::DataLoader").wait(700, 10, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 599).batch(1, 1, 0, 0, 100, 705)
    return builder.batch(2, 1, 600, 600, 900, None)


def test_a_ready_batch_behind_a_slow_one_is_told_with_its_time() -> None:
    one = found(held_up(), "head_of_line")
    assert "in_order=False" in one.code
    assert one.gain_us_per_step == 250  # of two workers one stands still for half of the window


def test_a_ready_batch_costs_nothing_while_all_workers_are_busy() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 600, "wait::DataLoader").wait(700, 10, "wait::DataLoader")
    builder.batch(0, 0, 0, 0, 600, 599).batch(1, 1, 0, 0, 100, 705).batch(2, 0, 0, 600, 990, None)
    assert finding(builder.batch(3, 1, 0, 100, 990, None), "head_of_line") is None


def test_no_advice_to_give_up_an_order_that_is_given_up() -> None:
    assert finding(held_up(in_order=False), "head_of_line") is None


def epochs(**loader: Any) -> TraceBuilder:
    settings = {"num_workers": 1, "batch_size": 1, "persistent_workers": False, **loader}
    builder = TraceBuilder().annotated(loaders=[settings]).worker(0).step(0, 1000)
    first = "wait::DataLoader (first batch)"
    return builder.wait(0, 100, first).batch(0, 0, 0, 0, 99, 99).step(1000, 1000).wait(1000, 200, first)


def test_an_epoch_that_starts_its_workers_again() -> None:
    one = found(epochs(), "slow_first_batch")
    assert one.gain_us_per_step == 100  # 200 us in one of two steps; the very first start is not to be saved
    assert "persistent_workers=True" in one.code


def test_persistent_workers_are_not_recommended_twice_nor_for_the_only_start() -> None:
    assert finding(epochs(persistent_workers=True), "slow_first_batch") is None
    only = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 1000)
    assert "first epoch" in abstained(only.wait(0, 200, "wait::DataLoader (first batch)"))["slow_first_batch"]


def copying(name: str, blocking: bool, **loader: Any) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, **loader}]).step(0, 1000).wait(0, 10)
    builder.call("cudaMemcpyAsync", 100, 200 if blocking else 10, 7)
    return builder.memcpy(150, 100, name=name, correlation=7, bytes=1000).kernel(300, 700)


def test_pageable_copies_ask_for_pinned_memory() -> None:
    one = found(copying("Memcpy HtoD (Pageable -> Device)", True), "unpinned_copies")
    assert "pin_memory=True" in one.code
    assert one.gain_us_per_step == 50 + 100 + 50  # in the call until the copy began, the copy, in the call after it


def test_a_loader_that_pins_is_not_told_to_pin() -> None:
    one = found(copying("Memcpy HtoD (Pageable -> Device)", True, pin_memory=True), "unpinned_copies")
    assert "pin_memory()" in one.advice and not one.code


def test_pinned_copies_that_block_ask_for_non_blocking() -> None:
    assert "non_blocking" in found(copying(PINNED, True), "blocking_copies").code
    assert finding(copying(PINNED, False), "blocking_copies") is None


def test_copies_of_unknown_memory_are_not_judged() -> None:
    assert "unpinned_copies" in abstained(copying("Memcpy HtoD (Host -> Device)", True))


CHAIN = {
    "sample::Pets": (0.0, 1.0, 1.0),
    "decode::PIL.Image": (0.0, 0.3, 0.3, 1_200_000),
    "transform::Blur": (0.3, 0.5, 0.5, 1_200_000),
    "transform::RandomCrop": (0.8, 0.1, 0.1, 200_000),
    "transform::ToFloat": (0.9, 0.1, 0.1, 800_000),
}


def test_a_crop_after_dear_transforms_should_come_first() -> None:
    one = found(input_bound(stages=CHAIN), "shrink_first")
    assert one.title.startswith("RandomCrop keeps 16.7 % of the data, after Blur")
    # A batch takes one of two workers 20 ms; 16 of them lie before the crop, and a sixth of those remains. The wait
    # itself, 8 ms, holds only the blur; a batch without the rest would be ready earlier all the same.
    assert one.gain_us_per_step == pytest.approx(16_000 * 5 / 6 / 2, rel=0.1)


def test_no_gain_exceeds_what_is_waited() -> None:
    for one in capture_of(input_bound(stages=CHAIN)).findings:
        assert one.gain_us_per_step <= 8000


def test_a_replay_promises_no_bound() -> None:
    one = found(input_bound(stages=CHAIN), "shrink_first")
    assert one.HasField("gain_us_per_step") and one.advice.endswith("the bound counts that.")
    told = found(input_bound(stages=CHAIN).annotated(mode="replay", loaders=[{"num_workers": 2}]), "shrink_first")
    assert not told.HasField("gain_us_per_step") and "bound" not in told.advice


def test_a_crop_right_after_decoding_asks_for_a_decoder_that_crops() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "decode::PIL.Image": (0.0, 0.8, 0.8, 1_200_000),
        "transform::RandomCrop": (0.8, 0.1, 0.1, 200_000),
    }
    one = found(input_bound(stages=chain), "shrink_first")
    assert one.title == "RandomCrop keeps 16.7 % of the data, after decoding worked on all of it"
    assert one.advice.startswith("Decode only what RandomCrop keeps")


def test_a_crop_that_comes_first_is_left_alone() -> None:
    chain = {
        "sample::Pets": (0.0, 1.0, 1.0),
        "transform::RandomCrop": (0.0, 0.1, 0.1, 200_000),
        "transform::Blur": (0.1, 0.9, 0.9, 200_000),
    }
    assert finding(input_bound(stages=chain), "shrink_first") is None


def test_without_sizes_the_order_of_transforms_is_not_judged() -> None:
    chain = {name: times[:3] for name, times in CHAIN.items()}
    assert "sizes" in abstained(input_bound(stages=chain))["shrink_first"]


def small_transforms(name: str) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 10}]).step(0, 1000).wait(0, 900)
    for number in range(10):
        builder.stage("sample::Pets", 90 * number, 80).stage(f"transform::{name}", 90 * number + 5, 70)
    return builder


def test_many_small_transforms_could_be_batched() -> None:
    one = found(small_transforms("Scale"), "batchable_transforms")
    assert one.confidence == "possible" and one.gain_us_per_step == 700


def test_random_transforms_are_not_to_be_batched() -> None:
    assert finding(small_transforms("RandomErasing"), "batchable_transforms") is None


def handed_over(transfer: float, collate: float = 0.0, size: int = 4 * 2**20) -> TraceBuilder:
    """One batch of 5 ms whose float conversion quadruples it, then on its way for `transfer` us."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 20_000).wait(0, 5000 + transfer, "wait::DataLoader")
    stages = {
        "sample::Pets": (0.0, 5000 - collate, 100.0),
        "transform::Crop": (0.0, 1000.0, 100.0, 100),
        "transform::ToFloat": (1000.0, 1000.0, 100.0, 400),
        "collate::default_collate": (5000 - collate, collate, 100.0, size),
    }
    return builder.batch(0, 0, 0, 0, 5000, 4999 + transfer, stages)


def test_a_slow_way_to_the_training_thread_is_told_with_its_size() -> None:
    one = found(handed_over(4000), "transfer_heavy")
    assert one.gain_us_per_step == 3000  # about a millisecond is the price of next()
    assert "4.00 MiB per batch" in one.evidence


def test_a_small_batch_on_a_slow_way_waits_for_something_else_than_its_bytes() -> None:
    assert "uint8" in found(handed_over(4000), "transfer_heavy").advice
    assert "interpreter's lock" in found(handed_over(9000, size=256), "transfer_heavy").advice


def test_floats_made_before_the_way_are_told() -> None:
    assert found(handed_over(4000), "float_before_transfer").gain_us_per_step == 4000 * 0.75


def test_a_full_queue_is_no_trouble_that_workers_could_cure() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 2000).wait(1000, 700, "wait::DataLoader").batch(0, 0, 0, 0, 500, 1699)
    one = found(builder, "transfer_heavy")
    assert one.severity == "low" and "price of next()" in one.advice
    assert finding(builder, "too_few_workers") is None


def test_a_heavy_collate_is_told() -> None:
    assert found(handed_over(100, collate=3000), "collate_heavy").gain_us_per_step == 3000


def reading(size: int | None) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 1000).wait(0, 900, "wait::DataLoader")
    read = (0.0, 800.0, 10.0) if size is None else (0.0, 800.0, 10.0, size)
    return builder.batch(0, 0, 0, 0, 899, 899, {"sample::Pets": (0.0, 890.0, 20.0), "read::file": read})


def test_many_small_reads_ask_for_packed_records() -> None:
    builder = reading(50_000)
    assert found(builder, "small_reads").gain_us_per_step == 800
    assert finding(builder, "leading_stage") is None


def test_large_reads_are_told_as_the_leading_stage() -> None:
    assert finding(reading(10**7), "small_reads") is None
    assert found(reading(10**7), "leading_stage").stage == "read::file"
    assert "small_reads" in abstained(reading(None))


def test_a_leading_stage_tells_whether_it_computes_or_waits() -> None:
    builder = reading(10**7)
    builder.costs = {"run_delay_us": [0.0]}
    one = found(builder, "leading_stage")
    assert any("waits for something else than a core" in line for line in one.evidence)


def test_an_uneven_worker_is_named() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800)
    for number in range(3):
        builder.batch(2 * number, 0, 0, 200 * number, 200 * number + 25, 800)
        builder.batch(2 * number + 1, 1, 0, 200 * number, 200 * number + 200, 800)
    assert found(builder, "uneven_workers").title.startswith("DataLoader worker 1 is busy 1.8 times")


def test_a_batch_each_does_not_tell_a_slow_worker_from_a_slow_batch() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}]).worker(0).worker(1)
    builder.step(0, 1000).wait(0, 800).batch(0, 0, 0, 0, 100, 100).batch(1, 1, 0, 0, 800, 799)
    assert "uneven_workers" in abstained(builder)


def one_slow_sample(**costs: float) -> TraceBuilder:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 900)
    for number in range(9):
        start, length = (10.0 * number, 10.0) if number < 8 else (100.0, 700.0)
        stages = {"sample::Pets": (start, length, 1.0)}
        builder.batch(number, 0, 0, start, start + length, start + length, stages, **costs)
    return builder


def test_slow_samples_are_named_by_their_index() -> None:
    one = found(one_slow_sample(), "slow_samples")
    assert any(line.startswith("index 8: 700") for line in one.evidence)


def test_a_sample_that_may_only_have_waited_for_a_core_is_not_blamed() -> None:
    assert "core" in abstained(one_slow_sample(run_delay_us=50))["slow_samples"]


def launching(wait: float = 0.0) -> TraceBuilder:
    builder = TraceBuilder().step(0, 1000).wait(0, wait + 1)
    for number in range(10):
        builder.operator(100 * number + 10, 80).call("cudaLaunchKernel", 100 * number + 80, 5, number)
        builder.kernel(100 * number + 85, 10, correlation=number)
    return builder


def test_a_launch_bound_run_is_told_to_leave_the_loader_alone() -> None:
    one = found(launching(), "launch_bound")
    assert "not for data" in one.title and "CUDA graphs" in one.advice
    assert one.gain_us_per_step <= 900


def test_one_long_launch_is_a_first_use_and_no_habit() -> None:
    builder = TraceBuilder().step(0, 1000).wait(0, 1).call("cudaLaunchKernel", 5, 900, 7).kernel(905, 95, correlation=7)
    one = found(builder, "launch_bound")
    assert one.severity == "low" and not one.HasField("gain_us_per_step")


def test_a_synchronising_call_is_named_with_its_price() -> None:
    builder = TraceBuilder().step(0, 1000).kernel(0, 300).operator(100, 300, "aten::item")
    builder.call("cudaStreamSynchronize", 110, 280).operator(420, 80).call("cudaLaunchKernel", 480, 10, 7)
    one = found(builder.kernel(500, 500, correlation=7), "sync_bound")
    assert one.gain_us_per_step == 200
    assert any("aten::item (1)" in line for line in one.evidence)


def test_long_pauses_in_python_are_told_apart_from_short_ones() -> None:
    builder = TraceBuilder().step(0, 10_000).wait(0, 1).operator(1, 1)
    builder.call("cudaLaunchKernel", 5000, 0, 7).kernel(5000, 5000, correlation=7)
    assert found(builder, "python_pauses").gain_us_per_step == pytest.approx(4998)
    assert finding(launching(), "python_pauses") is None


def test_every_finding_says_what_was_seen_what_to_do_and_how_sure_it_is() -> None:
    builders = [
        input_bound(),
        input_bound(stages=CHAIN),
        copying(PINNED, True),
        launching(),
        handed_over(4000),
        held_up(),
    ]
    for builder in builders:
        for one in capture_of(builder).findings:
            assert one.title and one.advice and one.evidence and all(one.evidence), one.rule
            assert one.confidence in ("measured", "likely", "possible"), one.rule
            assert (one.confidence == "measured") == (not one.confidence_reason), one.rule


def test_no_gain_exceeds_the_idle_or_waiting_time_that_it_is_about() -> None:
    for builder in (input_bound(), input_bound(cores=3), input_bound(stages=CHAIN), launching(), handed_over(4000)):
        capture = capture_of(builder)
        for one in capture.findings:
            lost = capture.devices[0].idle_us if capture.devices else capture.loader.wait_us
            assert one.gain_us_per_step * capture.steps.count <= lost + 1e-6, one.rule
