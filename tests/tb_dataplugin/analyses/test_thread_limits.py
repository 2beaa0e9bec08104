from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.analyses.sampled_cpu import LEAST_SAMPLES
from tb_dataplugin.analyses.thread_limits import Limits, ThreadLimits
from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.report.report_pb2 import Report
from tests.tb_dataplugin.findings.cases import capture_of, results_of
from tests.trace_builder import TraceBuilder

RUNNING, BLOCKED, LOCK, METRICS = 0, 1, 2, 3


def step(**metadata: Any) -> TraceBuilder:
    """Without a device: 10 ms, of which the first 4 ms wait for data."""
    return TraceBuilder().annotated(loaders=[{"num_workers": 0}], **metadata).step(0, 10_000).wait(0, 4000)


def every(ms: float, *states: int) -> tuple[list[float], list[int]]:
    """A sample every `ms`, from half of that on."""
    return [1000 * ms * (number + 0.5) for number in range(len(states))], list(states)


def limits_of(results: Results) -> ThreadLimits:
    assert results.limits is not None
    return results.limits


def outside(builder: TraceBuilder) -> Limits:
    found = limits_of(results_of(builder)).outside
    assert found is not None
    return found


def test_a_share_of_the_samples_in_a_part_is_a_share_of_its_time() -> None:
    states = [BLOCKED] * 40 + [METRICS] * 15 + [RUNNING] * 45  # the first 40 are in the data wait
    found = outside(step().sampled(*every(0.1, *states)))
    assert found.whole_ns == 6_000_000
    assert found.gil_ns == pytest.approx(1_500_000, rel=0.02)
    assert (found.gc_ns, found.no_cpu_ns, found.blocked_ns) == (0, 0, 0)
    assert found.training.samples == 60
    assert 0 < found.gil_error_ns < 1_000_000
    waited = limits_of(results_of(step().sampled(*every(0.1, *states)))).data_wait
    assert waited is not None
    assert waited.blocked_ns == waited.whole_ns


def test_what_held_the_lock_is_named_by_its_time() -> None:
    states = [LOCK] * 20 + [METRICS] * 20 + [RUNNING] * 50 + [4] * 10
    found = limits_of(results_of(step().sampled(*every(0.1, *states), holders=("metrics", "logger"))))
    assert list(found.holders_ns) == ["metrics", "logger"]
    assert found.holders_ns["metrics"] == pytest.approx(2_000_000, rel=0.02)


def test_a_running_thread_may_wait_for_a_cpu() -> None:
    found = outside(step().sampled(*every(0.1, *[RUNNING] * 100), delay_us=50))
    assert found.no_cpu_ns == pytest.approx(3_000_000, rel=0.02)
    assert (found.gil_ns, found.blocked_ns) == (0, 0)


def test_limits_are_disjoint_and_at_most_their_part() -> None:
    builder = step(collections={"start_us": [4000], "length_us": [6000]})
    found = outside(builder.sampled(*every(0.1, *[METRICS, BLOCKED] * 50), delay_us=50))
    assert None not in (found.gil_ns, found.gc_ns, found.no_cpu_ns, found.blocked_ns)
    assert (found.gil_ns or 0) + (found.gc_ns or 0) == found.whole_ns
    assert (found.no_cpu_ns, found.blocked_ns) == (0, 0)


def test_collections_are_measured() -> None:
    builder = step(collections={"start_us": [1000, 5000], "length_us": [500, 250]})
    assert outside(builder.sampled(*every(0.1, *[RUNNING] * 100))).gc_ns == 250_000


def test_of_few_samples_nothing_is_said() -> None:
    builder = step().sampled(*every(1, *[METRICS] * (LEAST_SAMPLES - 1)))
    results = results_of(builder)
    assert limits_of(results).outside is None
    assert limits_of(results).data_wait is None
    assert [note.code for note in results.diagnostics if note.code == "few_thread_samples"]
    assert not capture_of(builder).loader.HasField("limited_by_us")


def test_where_the_lock_cannot_be_told_it_is_absent_with_a_reason() -> None:
    builder = step().sampled(*every(0.1, *[BLOCKED] * 100), lock_known=False)
    assert outside(builder).gil_ns is None
    assert "gil_unknown" in {note.code for note in results_of(builder).diagnostics}


def test_without_samples_the_reason_is_given() -> None:
    results = results_of(step(thread_samples={"why_not": "the system refused"}))
    assert results.limits is None
    assert any(note.code == "gil_unknown" and "refused" in note.message for note in results.diagnostics)


def test_a_trace_of_a_version_without_samples_has_no_diagnostic() -> None:
    results = results_of(step())
    assert results.limits is None
    assert "gil_unknown" not in {note.code for note in results.diagnostics}


@pytest.mark.parametrize(
    "change",
    ({"after_us": [0]}, {"start_us": 8e15}, {"state": [9] * 20}, {"after_us": list(range(20, 0, -1))}),
    ids=lambda c: next(iter(c)),
)
def test_samples_that_do_not_fit_together_are_left_out(change: dict[str, Any]) -> None:
    builder = step().sampled(*every(0.1, *[RUNNING] * 20))
    builder.top_level["dataPipeline"]["thread_samples"]["threads"][0] |= change
    results = results_of(builder)
    assert results.limits is None
    assert "bad_thread_samples" in {note.code for note in results.diagnostics}


def test_a_blocked_training_thread_waits_for_what_its_worker_waits_for() -> None:
    """The wait is 4 ms; the worker builds for them, half of its time waiting for a lock of its own process."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 4000, "wait::DataLoader").batch(0, 0, 0, 0, 3999, 3999.5, {"sample::A": (0, 3990)})
    builder.sampled(*every(0.1, *[BLOCKED] * 40, *[RUNNING] * 60))
    found = limits_of(results_of(builder.sampled(*every(0.1, *[LOCK, RUNNING] * 20, *[BLOCKED] * 60), pid=100)))
    assert found.data_wait is not None
    assert found.data_wait.gil_ns == pytest.approx(2_000_000, rel=0.1)
    assert found.data_wait.in_workers_ns == found.data_wait.gil_ns
    assert found.data_wait.blocked_ns == pytest.approx(0, abs=200_000)


def test_what_the_training_thread_does_while_its_batch_lies_ready_is_its_own() -> None:
    """The batch was built 3 ms before; the thread draws indices, and is blocked for a moment."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 4000, "wait::DataLoader")
    builder.batch(0, 0, -4000, -4000, -3000, 3999.5, {"sample::A": (-4000, 990)})
    states = [RUNNING] * 30 + [BLOCKED] * 10 + [RUNNING] * 60
    builder.sampled(*every(0.1, *states), delay_us=50)
    found = limits_of(results_of(builder.sampled(*every(0.1, *[BLOCKED] * 100), pid=100))).data_wait
    assert found is not None and found.workers is None
    assert found.training.running_ns == found.training.no_cpu_ns == pytest.approx(1_500_000, rel=0.05)
    assert found.training.blocked_ns == found.blocked_ns == pytest.approx(1_000_000, rel=0.05)


def test_a_finished_batch_is_on_its_way_until_it_arrives() -> None:
    """The wait is 4 ms; the batch is built in its first, and arrives at the end of its third."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 4000, "wait::DataLoader").batch(0, 0, 0, 0, 1000, 3999.5, {"sample::A": (0, 990)})
    builder.batches["arrived_us"][-1] = 3000
    builder.sampled(*every(0.1, *[BLOCKED] * 40, *[RUNNING] * 60))
    found = limits_of(results_of(builder.sampled(*every(0.1, *[RUNNING] * 100), pid=100))).data_wait
    assert found is not None
    assert found.awaited_ns == pytest.approx(1_000_000, rel=0.1)
    assert found.arriving_ns == pytest.approx(2_000_000, rel=0.1)
    assert found.training.blocked_ns == pytest.approx(3_000_000, rel=0.1)


def test_of_workers_that_were_not_forked_the_lock_is_unknown() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 4000, "wait::DataLoader").batch(0, 0, 0, 0, 3999, 3999.5, {"sample::A": (0, 3990)})
    builder.sampled(*every(0.1, *[BLOCKED] * 40, *[RUNNING] * 60))
    results = results_of(builder.sampled(*every(0.1, *[BLOCKED] * 100), pid=100, lock_known=False))
    found = limits_of(results).data_wait
    assert found is not None
    assert found.gil_ns is None
    assert found.blocked_ns == pytest.approx(found.whole_ns, rel=0.05)
    assert "gil_unknown" in {note.code for note in results.diagnostics}


def test_of_workers_that_were_not_sampled_nothing_is_said() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0)
    builder.step(0, 10_000).wait(0, 4000, "wait::DataLoader").batch(0, 0, 0, 0, 3999, 3999.5, {"sample::A": (0, 3990)})
    found = limits_of(results_of(builder.sampled(*every(0.1, *[BLOCKED] * 40, *[RUNNING] * 60))))
    assert found.data_wait is not None
    assert found.data_wait.blocked_ns is None
    assert found.data_wait.gil_ns == 0


def test_causes_of_idle_time_have_their_limits() -> None:
    """The device idles for 6 ms: 2 ms of data wait, then Python, of which the lock has half."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 0}]).step(0, 10_000).wait(0, 2000, "wait::DataLoader")
    builder.operator(2000, 1).call("cudaLaunchKernel", 6000, 0, 7).kernel(6000, 4000, correlation=7)
    states = [BLOCKED] * 40 + [METRICS, RUNNING] * 40 + [BLOCKED] * 80
    capture = capture_of(builder.sampled(*every(0.05, *states)))
    (device,) = capture.devices
    assert "the training thread was waiting for Python's lock (GIL) for 50." in as_text(Report(captures=[capture]))
    host = device.limited_by_us["host"]
    assert host.text.endswith(f", from {host.samples} samples of its state")
    assert host.gil == pytest.approx(device.idle_by_cause_us.host / 2, rel=0.05)
    assert host.blocked == 0
    assert device.limited_by_us["data_wait"].blocked == pytest.approx(2000, rel=0.05)
    assert "sync" not in device.limited_by_us


def test_a_thread_that_waits_for_another_ones_operators_is_not_blocked() -> None:
    builder = step().sampled(*every(0.1, *[BLOCKED] * 100)).operator(4000, 6000, tid=2)
    assert outside(builder).blocked_ns == 0
