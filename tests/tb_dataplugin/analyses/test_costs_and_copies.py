"""Figures that tell reasons apart, planted with known answers."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import analyse, as_report
from tests.trace_builder import TraceBuilder, training_run

PINNED = "Memcpy HtoD (Pinned -> Device)"


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def copies(builder: TraceBuilder) -> dict[str, Any]:
    found: dict[str, Any] = capture_of(builder)["devices"][0]["h2d"]
    return found


def step() -> TraceBuilder:
    return TraceBuilder().step(0, 1000)


def test_pageable_and_pinned_copies_are_told_by_their_names() -> None:
    builder = step().memcpy(0, 10).memcpy(20, 10, name=PINNED).memcpy(40, 10, name="Memcpy HtoD (Host -> Device)")
    found = copies(builder.memcpy(60, 10, name="Memcpy DtoH (Device -> Pageable)"))
    assert (found["count"], found["pageable"], found["pinned"], found["launched"]) == (3, 1, 1, 0)


def test_a_copy_that_the_call_lasts_for_is_blocking() -> None:
    builder = step().call("cudaMemcpyAsync", 0, 30, 7).memcpy(10, 15, correlation=7)
    builder.call("cudaMemcpyAsync", 40, 5, 8).memcpy(50, 15, correlation=8)
    found = copies(builder)
    assert (found["blocking"], found["launched"], found["host_us"]) == (1, 2, 35)


def test_a_copy_that_is_synchronised_right_after_is_blocking() -> None:
    builder = step().call("cudaMemcpyAsync", 0, 5, 7).call("cudaStreamSynchronize", 6, 30)
    assert copies(builder.memcpy(10, 15, name=PINNED, correlation=7))["blocking"] == 1


def test_a_call_of_another_thread_is_not_the_next_one() -> None:
    builder = step().call("cudaMemcpyAsync", 0, 5, 7).call("cudaStreamSynchronize", 6, 30, tid=2)
    assert copies(builder.memcpy(10, 15, name=PINNED, correlation=7))["blocking"] == 0


def test_overlap_and_speed_of_copies() -> None:
    found = copies(step().memcpy(0, 10, bytes=50_000).memcpy(20, 10, bytes=150_000).kernel(5, 20))
    assert (found["copy_us"], found["overlapped_us"], found["bytes"], found["gb_per_s"]) == (20, 10, 200_000, 10)


def test_speed_is_unknown_where_the_bytes_are() -> None:
    assert "gb_per_s" not in copies(step().memcpy(0, 10))


def worker_run() -> TraceBuilder:
    """Two batches of 400 us each: of 800 us 300 running, 300 without a core, 200 waiting."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 1000)
    builder.wait(0, 400, "wait::DataLoader").wait(450, 400, "wait::DataLoader").worker(0)
    told = {"process_cpu_us": 300, "run_delay_us": 150, "read_chars": 1000, "read_bytes": 250}
    for number, start in enumerate((0, 450)):
        stages = {
            "sample::Pets": (start, 400, 150, 64),
            "read::file": (start, 100, 0, 10),
            "transform::Spin": (start + 100, 280, 140, 64),
        }
        builder.batch(number, 0, start, start, start + 400, start + 400, stages, **told)
    return builder


def test_what_batches_cost_is_told_in_shares_of_making_them() -> None:
    found = capture_of(worker_run())["worker_costs"]
    assert (found["batches"], found["wall_us"]) == (2, 800)
    shares = found["cpu_share"], found["run_delay_share"], found["process_cpu_share"], found["threads"]
    assert shares == pytest.approx((300 / 800, 300 / 800, 600 / 800, 2))
    assert (found["read_chars"], found["read_bytes"], found["cached_share"]) == (2000, 500, 0.75)
    assert "major_faults" not in found


def test_what_workers_waited_for_a_cpu_does_not_say_which_stage_did() -> None:
    stages = {stage["path"][-1]: stage for stage in capture_of(worker_run())["stages"] if "wait" not in stage["kind"]}
    spin, read = stages["transform::Spin"], stages["read::file"]
    assert (spin["cpu_self_us"], "run_delay_us" in spin, spin["limited_by"]) == (280, False, "")
    assert (read["cpu_self_us"], "blocked_us" in read, read["limited_by"]) == (0, False, "")
    assert stages["sample::Pets"]["cpu_self_us"] == 20


def test_samples_of_a_worker_say_how_long_it_waited_for_a_cpu_though_no_batch_was_measured() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 1000)
    builder.wait(0, 400).wait(450, 400).worker(0)
    for number, start in enumerate((0, 450)):
        builder.batch(number, 0, start, start, start + 400, start + 400, {"sample::Pets": (start, 400, 150)})
    assert "run_delay_share" not in capture_of(builder)["worker_costs"]
    times = [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]
    builder.sampled(times, [0] * 10, pid=100)  # a kernel that does not count
    assert "run_delay_share" not in capture_of(builder)["worker_costs"]
    builder.sampled(times, [0] * 10, pid=100, delay_us=40)
    # Between 400 and 500 the worker builds for half of the time.
    assert capture_of(builder)["worker_costs"]["run_delay_share"] == pytest.approx(8 * 40 / 800)
    crowded = builder.sampled(times, [0] * 10, pid=100, delay_us=90)
    costs = capture_of(crowded)["worker_costs"]
    assert costs["run_delay_share"] + costs["cpu_share"] <= 1


def sample_stage(builder: TraceBuilder) -> dict[str, Any]:
    return next(stage for stage in capture_of(builder)["stages"] if stage["kind"] == "sample")


def test_a_stage_that_runs_all_the_time_is_limited_by_computing() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 500).wait(0, 400).worker(0)
    builder.batch(0, 0, 0, 0, 400, 400, {"sample::Pets": (0, 400, 390)})
    assert sample_stage(builder)["limited_by"] == "cpu"


def test_without_run_queue_delay_a_stage_that_does_not_run_is_not_judged() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 500).wait(0, 400).worker(0)
    builder.batch(0, 0, 0, 0, 400, 400, {"sample::Pets": (0, 400, 40)})
    stage = sample_stage(builder)
    assert stage["limited_by"] == "" and "run_delay_us" not in stage


def alone(**metadata: Any) -> TraceBuilder:
    """The training thread makes a batch: 1000 us, of which 200 computing."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}], **metadata).step(0, 1100)
    for name, start, length, cpu in (("wait::Loader", 0, 1000, 220), ("transform::Slow", 10, 900, 200)):
        builder.add("user_annotation", name, start, length, cpu_us=cpu)
    return builder


def slow_stage(builder: TraceBuilder) -> dict[str, Any]:
    return next(stage for stage in capture_of(builder)["stages"] if stage["label"] == "Slow")


def test_without_workers_the_training_thread_tells_who_had_its_core() -> None:
    starved = slow_stage(alone(training_thread={"cpu_us": 220, "run_delay_us": 660}))
    assert (starved["run_delay_us"], starved["limited_by"]) == (660, "no_cpu")
    blocked = slow_stage(alone(training_thread={"cpu_us": 220, "run_delay_us": 0}))
    assert (blocked["run_delay_us"], blocked["limited_by"]) == (0, "blocked")
    assert "run_delay_us" not in slow_stage(alone())


def test_costs_of_the_training_thread_say_nothing_of_workers() -> None:
    builder = worker_run().annotated(
        loaders=[{"num_workers": 1, "batch_size": 1}], training_thread={"cpu_us": 1, "run_delay_us": 900}
    )
    stages = {stage["path"][-1]: stage for stage in capture_of(builder)["stages"]}
    assert "run_delay_us" not in stages["transform::Spin"]


def test_a_wait_is_never_called_computing() -> None:
    wait = next(stage for stage in capture_of(alone())["stages"] if stage["kind"] == "wait")
    assert wait["limited_by"] == "" and wait["cpu_us"] == 220


def test_what_a_capture_does_not_tell_of_its_machine_is_said() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1}]).step(0, 500).wait(0, 400).worker(0)
    builder.batch(0, 0, 0, 0, 400, 400, {"sample::Pets": (0, 400, 40)})
    codes = {one["code"] for one in capture_of(builder)["diagnostics"]}
    assert {"no_host_samples", "no_run_delay"} <= codes
    builder.counter("host::cpu", 100, **{"core 0": 50}).costs["run_delay_us"] = [0.0]
    codes = {one["code"] for one in capture_of(builder)["diagnostics"]}
    assert not {"no_host_samples", "no_run_delay", "no_worker_costs"} & codes


def test_the_load_of_the_host_is_its_mean_over_the_time_of_the_window_for_which_each_value_holds() -> None:
    """From 100 to 200: 20 us of 0%, 60 us of 80%, 20 us of 100%."""
    builder = TraceBuilder().step(100, 100)
    for ts, busy in ((50, 0), (120, 80), (180, 100), (250, 0)):
        builder.counter("host::cpu", ts, **{"core 0": busy})
    (found,) = capture_of(builder)["host_load"]
    assert (found["series"], found["samples"], found["mean"], found["low"], found["high"]) == ("core 0", 3, 68, 0, 100)


def batches(count: int, build: int, read: int, kernel: int) -> TraceBuilder:
    """Of one sample each, built by the training thread, one per step of 1 ms."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0, "batch_size": 1}]).step(0, 1000 * count)
    for start in range(0, 1000 * count, 1000):
        builder.wait(start, build).stage("sample::Pets", start, build).stage("read::file", start, read)
        builder.kernel(start + build, kernel)
    return builder


def test_reading_and_preparation_by_turns_sustain_less_than_either() -> None:
    rates = capture_of(batches(3, build=400, read=100, kernel=200))["throughput"]
    assert (rates["read_per_s"], rates["device_per_s"]) == (10_000, pytest.approx(1e6 / 600))
    assert (rates["load_per_s"], rates["slowest_part"]) == (2500, "device")
    assert rates["slowest_text"] == "the training step limits"


def test_a_loader_slower_than_the_device_is_limited_by_its_slower_half() -> None:
    assert capture_of(training_run())["throughput"]["slowest_part"] == "device"
    assert capture_of(batches(3, build=900, read=600, kernel=100))["throughput"]["slowest_part"] == "read"


def test_where_loading_limits_neither_half_is_said_to_do_so_alone() -> None:
    """Reading and preparation sustain more than the step each, and less by turns."""
    builder = batches(3, build=700, read=400, kernel=500)
    rates = capture_of(builder)["throughput"]
    assert min(rates["read_per_s"], rates["prepare_per_s"]) > rates["device_per_s"] > rates["load_per_s"]
    assert rates["slowest_text"] == "loading limits, most of it reading"
    text = " ".join(as_text(as_report([analyse(builder.trace()).capture])).split())
    assert "reading 2,500, preparation 3,330 (both by turns 1,430), training step 2,310; loading limits" in text


def test_where_only_one_half_is_known_that_limits() -> None:
    rates = capture_of(batches(3, build=700, read=2, kernel=500))["throughput"]
    assert rates["slowest_text"] == "preparation limits"


@pytest.mark.parametrize(("build", "part"), [(200, "device"), (500, ""), (800, "prepare")])
def test_of_parts_that_take_turns_in_one_thread_only_one_with_most_of_its_time_limits(build: int, part: str) -> None:
    builder = batches(3, build=build, read=10, kernel=100)
    builder.events = [event for event in builder.events if event["cat"] != "kernel"]
    assert capture_of(builder)["throughput"]["slowest_part"] == part


def test_a_step_that_waits_for_other_ranks_does_not_limit() -> None:
    """Most of it, or hardly any."""
    for waits, part in ((600, ""), (50, "device")):
        builder = batches(3, build=100, read=10, kernel=100).annotated(loaders=[{"num_workers": 0, "batch_size": 1}])
        builder.top_level["distributedInfo"] = {"rank": 1, "world_size": 4}
        for start in range(0, 3000, 1000):
            builder.operator(start + 200, 20, "c10d::allreduce_")
            builder.operator(start + 200, waits, "gloo:all_reduce", tid=9)
        assert capture_of(builder)["throughput"]["slowest_part"] == part


@pytest.mark.parametrize(
    ("read", "known"), [(2, ["prepare_per_s"]), (399, ["read_per_s"]), (40, ["prepare_per_s", "read_per_s"])]
)
def test_a_part_with_next_to_no_spans_has_no_rate(read: int, known: list[str]) -> None:
    rates = capture_of(batches(3, build=400, read=read, kernel=200))["throughput"]
    assert sorted(rates.keys() & {"read_per_s", "prepare_per_s"}) == known


def test_of_two_batches_no_part_has_a_rate_of_its_own() -> None:
    capture = capture_of(batches(2, build=400, read=100, kernel=200))
    known = {
        "item": "sample",
        "samples": 2,
        "samples_per_s": 1000,
        "samples_per_batch": 1,
        "slowest_part": "",
        "slowest_text": "",
    }
    assert capture["throughput"] == known
    (note,) = (note for note in capture["diagnostics"] if note["code"] == "few_batches")
    assert note["topic"] == "throughput" and "the window has 2 batches, and it takes 3" in note["message"]


def shards(measured: int) -> TraceBuilder:
    """Ten batches of 400 us, of which the first reads a shard of 5 MB; only the costs of batch `measured` are known."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 6000).worker(0)
    builder.wait(0, 5_900, "wait::DataLoader")
    for number in range(10):
        start = 500 * number
        stages: dict[str, tuple[float, ...]] = {"sample::Shards": (start, 400, 150, 64)}
        if number == 0:
            stages["read::file"] = (start, 100, 50, 5_000_000)
        told = {"read_chars": 5_000_100 if measured == 0 else 100, "read_bytes": 2_500_050 if measured == 0 else 0}
        builder.batch(number, 0, start, start, start + 400, start + 400, stages, **(told if number == measured else {}))
        for values in [builder.costs.setdefault(name, []) for name in told]:
            values += [None] * (number + 1 - len(values))
    return builder


def test_a_shard_that_no_measured_batch_read_counts_by_its_spans() -> None:
    found = capture_of(shards(measured=3))["worker_costs"]
    assert found["read_chars"] == 5_000_000 + 10 * 100
    assert "read_bytes" not in found and "cached_share" not in found, "what of the shard came from storage is unknown"


def test_nor_does_the_one_that_read_it_stand_for_all() -> None:
    found = capture_of(shards(measured=0))["worker_costs"]
    assert found["read_chars"] == 5_000_000 + 10 * 100
    assert found["cached_share"] == pytest.approx(0.5)


def test_reads_that_were_not_measured_are_as_those_that_took_as_long() -> None:
    """Two kinds: 5 MB in 200 us and 1 kB in 2 us, of each of which one was measured."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).step(0, 6000).worker(0)
    builder.wait(0, 5_900, "wait::DataLoader")
    for number in range(10):
        start, is_large = 500 * number, number in (2, 7)
        size = {0: (1, 1_000), 2: (1, 5_000_000)}.get(number, ())
        stages: dict[str, tuple[float, ...]] = {
            "sample::Shards": (start, 400 if is_large else 60),
            "read::file": (start, 200 - number if is_large else 2 + number / 10, *size),
        }
        told = {"read_chars": 5_000_000, "read_bytes": 0} if number == 2 else {}
        builder.batch(number, 0, start, start, start + 400, start + 400, stages, **told)
        for values in [builder.costs.setdefault(name, []) for name in ("read_chars", "read_bytes")]:
            values += [None] * (number + 1 - len(values))
    assert capture_of(builder)["worker_costs"]["read_chars"] == 2 * 5_000_000 + 8 * 1_000
