"""Planted idle time with known causes: exact."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_json import as_dict
from tb_dataplugin.pipeline import analyse
from tests.tb_dataplugin.analyses.test_workers import one_wait
from tests.trace_builder import TraceBuilder

DTOH = "Memcpy DtoH (Device -> Pageable)"
PINNED = "Memcpy HtoD (Pinned -> Device)"


def capture_of(builder: TraceBuilder) -> dict[str, Any]:
    return as_dict(analyse(builder.trace()).capture)


def causes(builder: TraceBuilder) -> dict[str, float]:
    """Causes that have any time, of the first device."""
    return {cause: us for cause, us in capture_of(builder)["devices"][0]["idle_by_cause_us"].items() if us}


def step() -> TraceBuilder:
    return TraceBuilder().step(0, 100)


def test_a_gap_is_cut_up_by_what_the_thread_did_until_the_launch() -> None:
    builder = step().wait(0, 40).operator(45, 20).call("cudaLaunchKernel", 60, 5, 7).kernel(70, 30, correlation=7)
    assert causes(builder) == {"data_wait": 40, "host": 5, "launch": 15 + 10}


def test_a_wait_after_the_launch_is_exposed_but_not_the_cause() -> None:
    builder = step().call("cudaLaunchKernel", 10, 5, 7).wait(15, 40).kernel(60, 40, correlation=7)
    found = capture_of(builder)
    assert found["loader"]["exposed_wait_us"] == 40
    assert causes(builder) == {"host": 10, "launch": 50}


def test_work_queued_before_the_gap_is_launch_and_told_apart_as_queued() -> None:
    builder = step().call("cudaLaunchKernel", 0, 5, 1).call("cudaLaunchKernel", 5, 5, 2)
    builder.kernel(0, 50, correlation=1).kernel(70, 30, correlation=2)
    device = capture_of(builder)["devices"][0]
    assert device["idle_by_cause_us"]["launch"] == device["idle_queued_us"] == 20


@pytest.mark.parametrize(("start", "queued"), [(95, 0), (100, 35)])
def test_work_that_starts_long_after_its_launch_returned_is_queued_from_then_on(start: float, queued: float) -> None:
    """Up to 30 us are the latency of a launch. What the host is in afterwards did not keep the device."""
    builder = TraceBuilder().step(0, 200).kernel(0, 50).call("cudaLaunchKernel", 60, 5, 7)
    builder.operator(66, 80, "aten::mul").kernel(start, 100, correlation=7)
    device = capture_of(builder)["devices"][0]
    (gap,) = [gap for gap in device["gaps"] if gap["start_us"] == 50]
    assert (device["idle_queued_us"], gap["queued_us"]) == (queued, queued)
    assert ("operator" in gap["chain"]) is (queued == 0)


def test_the_launching_thread_is_followed() -> None:
    """Autograd launches from a thread of its own while the training thread has nothing recorded."""
    builder = step().operator(30, 40, "AddmmBackward0", tid=2)
    builder.call("cudaLaunchKernel", 60, 5, 7, tid=2).kernel(70, 30, correlation=7)
    assert causes(builder) == {"host": 30, "launch": 40}


def test_another_thread_that_does_not_launch_does_not_count() -> None:
    builder = step().operator(0, 60, tid=2).call("cudaLaunchKernel", 60, 5, 7).kernel(70, 30, correlation=7)
    assert causes(builder) == {"host": 60, "launch": 10}


def test_a_thread_that_copies_while_the_training_thread_waits_is_followed_too() -> None:
    builder = step().wait(0, 60).operator(20, 20, tid=2).call("cudaMemcpyAsync", 40, 10, 7, tid=2)
    builder.memcpy(55, 45, correlation=7)
    assert causes(builder) == {"data_wait": 20, "launch": 20 + 5, "h2d": 10}


def test_time_in_the_copy_call_is_h2d_until_the_copy_begins() -> None:
    builder = step().call("cudaMemcpyAsync", 10, 60, 7).memcpy(60, 10, correlation=7).kernel(70, 30)
    assert causes(builder) == {"host": 10, "h2d": 50}


def test_a_marked_copy_is_h2d_also_around_the_call() -> None:
    builder = step().stage("h2d::batch", 10, 40).call("cudaMemcpyAsync", 30, 5, 7)
    builder.memcpy(40, 60, name=PINNED, correlation=7)
    assert causes(builder) == {"host": 10, "h2d": 20 + 5, "launch": 5}


def test_waiting_for_the_device_is_sync() -> None:
    builder = step().kernel(0, 20).call("cudaDeviceSynchronize", 10, 30).kernel(50, 50)
    assert causes(builder) == {"sync": 20, "host": 10}


def test_hip_synchronises_too() -> None:
    assert causes(step().call("hipStreamSynchronize", 0, 50).kernel(50, 50)) == {"sync": 50}


def test_making_a_stream_wait_does_not_block_the_host() -> None:
    assert causes(step().call("cudaStreamWaitEvent", 0, 50).kernel(50, 50)) == {"launch": 50}


def test_reading_a_scalar_is_sync_and_a_copy_that_nobody_waits_for_is_not() -> None:
    reading = step().call("cudaMemcpyAsync", 10, 60, 7).memcpy(50, 10, name=DTOH, correlation=7).kernel(80, 20)
    assert causes(reading) == {"host": 10 + 10, "launch": 40, "sync": 10}
    leaving = step().call("cudaMemcpyAsync", 10, 10, 7).memcpy(40, 10, name=DTOH, correlation=7).kernel(60, 40)
    assert causes(leaving) == {"host": 20, "launch": 30}


def test_a_synchronisation_inside_a_collective_waits_for_other_ranks() -> None:
    builder = step().stage("nccl:all_reduce", 0, 60).call("cudaStreamSynchronize", 10, 40).kernel(60, 40)
    assert causes(builder) == {"comm": 40, "host": 20}


def test_a_collective_kernel_is_work_and_its_launch_is_a_launch() -> None:
    builder = step().operator(0, 50).call("cudaLaunchKernel", 40, 5, 7)
    builder.kernel(50, 50, correlation=7, name="ncclDevKernel_AllReduce")
    assert causes(builder) == {"launch": 50}


def test_the_last_gap_is_judged_by_what_the_thread_did() -> None:
    builder = step().call("cudaGetDevice", 0, 0, 99).kernel(0, 40).operator(40, 10).wait(50, 30)
    assert causes(builder) == {"launch": 10, "data_wait": 30, "host": 20}


def test_the_first_launch_counts_where_two_activities_start_together() -> None:
    builder = step().call("cudaLaunchKernel", 40, 5, 8).call("cudaLaunchKernel", 20, 5, 7)
    builder.kernel(60, 40, stream=7, correlation=8).kernel(60, 20, stream=8, correlation=7)
    assert causes(builder) == {"host": 20, "launch": 40}


def test_of_calls_with_one_id_the_latest_before_the_activity_counts() -> None:
    builder = step().operator(0, 5).call("cudaLaunchKernel", 5, 5, 7).call("cudaLaunchKernel", 50, 5, 7)
    builder.call("cudaLaunchKernel", 90, 5, 7).kernel(60, 40, correlation=7)
    assert causes(builder) == {"launch": 5 + 5 + 10, "host": 40}


def test_without_host_events_the_causes_are_unknown_and_that_is_said() -> None:
    found = capture_of(TraceBuilder().kernel(0, 40).kernel(60, 40))
    assert found["devices"][0]["idle_by_cause_us"] == {"unknown": 20}
    assert "no_host_activity" in {one["code"] for one in found["diagnostics"]}


def test_runtime_calls_alone_do_not_tell_python_from_operators() -> None:
    builder = TraceBuilder().kernel(0, 20).call("cudaLaunchKernel", 40, 5, 7).kernel(50, 40, correlation=7)
    device = capture_of(builder)["devices"][0]
    assert device["idle_by_cause_us"]["unknown"] == 20
    assert "host" not in device["idle_by_cause_us"]


def test_a_missing_launch_is_counted() -> None:
    counts = {
        one["code"]: one["count"]
        for one in capture_of(step().call("cudaGetDevice", 0, 0, 99).kernel(50, 50))["diagnostics"]
    }
    assert counts["launch_not_recorded"] == 1


def test_old_traces_file_marks_of_the_user_among_the_operators() -> None:
    builder = TraceBuilder().add("Operator", "ProfilerStep#1", 0, 100).add("Operator", "my_part", 0, 60)
    builder.add("Runtime", "cudaGetDevice", 0, 0)
    builder.add("Operator", "aten::mm", 20, 20).add("Kernel", "gemm", 60, 40, pid=0, tid="stream 7", device=0)
    assert causes(builder) == {"host": 40, "launch": 20}


def test_a_gap_leads_back_to_launch_wait_batch_worker_sample_and_stage() -> None:
    builder = one_wait().call("cudaLaunchKernel", 70, 5, 7).kernel(80, 20, correlation=7)
    gap = capture_of(builder)["devices"][0]["gaps"][0]
    chain = gap["chain"]
    assert gap["stage"] == "decode::PIL.Image"
    told = {name: (chain[name]["start_us"], chain[name]["duration_us"], chain[name].get("lane", "")) for name in
            ("launch", "wait", "batch", "sample", "stage")}  # fmt: skip
    training = chain["wait"]["lane"]
    assert told == {
        "launch": (70, 5, training.replace("thread", "calls")),
        "wait": (10, 50, training),
        "batch": (25, 30, "worker:0.0"),
        "sample": (28, 25, "worker:0.0"),
        "stage": (30, 20, "worker:0.0"),
    }
    assert (chain["batch_number"], chain["worker"], chain["sample_index"]) == (0, 0, 0)


def test_without_workers_the_chain_leads_into_the_waiting_thread() -> None:
    builder = step().annotated().wait(0, 60, "wait::DataLoader").stage("sample::Pets", 5, 50)
    builder.stage("decode::PIL.Image", 10, 40).call("cudaLaunchKernel", 70, 5, 7).kernel(80, 20, correlation=7)
    chain = capture_of(builder)["devices"][0]["gaps"][0]["chain"]
    assert (chain["sample"]["start_us"], chain["stage"]["start_us"]) == (5, 10)
    assert "batch_number" not in chain and "worker" not in chain


def finished_before() -> TraceBuilder:
    """A wait from 40 to 60 for batch 0, which was finished at 10, while the worker is in the sample of batch 1."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}])
    builder.step(0, 100).wait(40, 20, "wait::DataLoader").worker(0, started=0)
    builder.batch(0, 0, 0, 2, 10, 59, {"sample::Pets": (3, 6)})
    builder.moments(serialise_us=11, serialised_us=12, deserialise_us=50, arrived_us=58)
    builder.batch(1, 0, 12, 14, 80, None, {"sample::Pets": (15, 64), "decode::PIL.Image": (16, 60)})
    return builder.call("cudaLaunchKernel", 70, 5, 7).kernel(80, 20, correlation=7)


def test_the_chain_of_a_finished_batch_has_no_sample_of_a_later_one_but_its_time_in_queue() -> None:
    gap = capture_of(finished_before())["devices"][0]["gaps"][0]
    chain = gap["chain"]
    assert (chain["batch_number"], chain["in_queue_us"]) == (0, 30)
    assert (gap["stage"], gap["stage_us"]) == ("transfer::queue", 10)
    assert not {"sample", "sample_index", "stage"} & chain.keys()


def test_a_batch_that_was_still_being_built_was_in_no_queue() -> None:
    builder = one_wait().call("cudaLaunchKernel", 70, 5, 7).kernel(80, 20, correlation=7)
    assert capture_of(builder)["devices"][0]["gaps"][0]["chain"]["in_queue_us"] == 0


def test_of_two_batches_in_one_wait_the_chain_has_that_of_the_gaps_stage() -> None:
    """An iterator that packs two batches: the first is decoded for 30 us of the wait, the second for 6."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 1}])
    builder.step(0, 100).wait(10, 60, "wait::DataLoader").worker(0, started=0).worker(1, started=0)
    builder.batch(0, 0, 10, 10, 48, 50, {"sample::Pets": (11, 36), "decode::PIL.Image": (12, 30)})
    builder.batch(1, 1, 10, 10, 60, 69, {"sample::Pets": (51, 8), "decode::PIL.Image": (52, 6)})
    builder.call("cudaLaunchKernel", 75, 5, 7).kernel(80, 20, correlation=7)
    gap = capture_of(builder)["devices"][0]["gaps"][0]
    chain = gap["chain"]
    assert (gap["stage"], chain["batch_number"], chain["worker"]) == ("decode::PIL.Image", 0, 0)
    assert (chain["stage"]["start_us"], chain["sample"]["start_us"]) == (12, 11)


def test_a_stage_of_the_training_thread_is_linked_there() -> None:
    builder = finished_before().stage("sampler::Random", 41, 16)
    gap = capture_of(builder)["devices"][0]["gaps"][0]
    chain = gap["chain"]
    assert (gap["stage"], chain["stage"]["start_us"]) == ("sampler::Random", 41)
    assert chain["stage"]["lane"] == chain["wait"]["lane"] and "sample" not in chain


def test_time_of_a_cause_that_the_trace_cannot_tell_is_unknown_and_not_lost() -> None:
    """Launches without a name: nobody knows whether they waited, so `launch` is not told of."""
    builder = TraceBuilder().call("", 0, 3, 250).kernel(4, 10, correlation=250).call("", 19, 3, 251)
    (device,) = as_dict(analyse(builder.trace()).capture)["devices"]
    assert device["idle_by_cause_us"] == {"unknown": 12.0} and device["idle_us"] == 12.0


def test_the_runtime_call_with_most_of_a_gap_is_named_and_not_only_the_launch_that_ends_it() -> None:
    builder = step().operator(0, 85, "aten::to").call("cudaDeviceGetStreamPriorityRange", 5, 60, 6)
    builder.call("cudaMemcpyAsync", 70, 5, 7).memcpy(80, 20, correlation=7)
    chain = capture_of(builder)["devices"][0]["gaps"][0]["chain"]
    assert (chain["launch"]["name"], chain["operator"]["name"]) == ("cudaMemcpyAsync", "aten::to")
    assert (chain["call"]["name"], chain["call"]["duration_us"]) == ("cudaDeviceGetStreamPriorityRange", 60)
    assert chain["call"]["lane"] == chain["launch"]["lane"]


def test_no_runtime_call_is_named_where_none_has_half_of_the_gap_on_the_thread_that_launches() -> None:
    builder = step().operator(0, 75).call("cudaMalloc", 0, 35, 6).call("cudaMalloc", 80, 90, 5, tid=2)
    builder.call("cudaFree", 0, 75, 4, tid=2).call("cudaLaunchKernel", 70, 5, 7).kernel(80, 20, correlation=7)
    assert "call" not in capture_of(builder)["devices"][0]["gaps"][0]["chain"]


def test_the_runtime_call_is_named_beside_a_data_wait_too() -> None:
    builder = step().wait(0, 70).call("cudaHostAlloc", 5, 60, 6)
    builder.call("cudaLaunchKernel", 72, 5, 7).kernel(80, 20, correlation=7)
    chain = capture_of(builder)["devices"][0]["gaps"][0]["chain"]
    assert (chain["wait"]["duration_us"], chain["call"]["name"]) == (70, "cudaHostAlloc")
