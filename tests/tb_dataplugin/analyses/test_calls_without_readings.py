"""Waiting for a CPU in the recorder's own reading of CPU time is part of sums, and of no single call."""

from __future__ import annotations

from typing import Any

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.pipeline import as_report
from tb_dataplugin.report.report_pb2 import Capture
from tests.tb_dataplugin.findings.cases import capture_of
from tests.trace_builder import TraceBuilder

BODY, WAIT, EACH, BATCHES = 1_200.0, 20_000.0, 4, 16
SAMPLES = EACH * BATCHES


def loop(*, said: bool, long_at: int = -1, training: bool = False, wait_us: float = WAIT) -> TraceBuilder:
    """Sixteen batches of one DataLoader worker (`training`: without one), each of four samples of 1.2 ms. The second
    one of each waits `wait_us` for a CPU behind its body, in the recorder's reading. Sample `long_at` has a body of
    20 ms.
    """
    builder = TraceBuilder()
    readings: dict[str, list[Any]] = {"start_us": [], "length_us": [], "pid": []}
    pid = 1 if training else 100
    now, number = 0.0, 0
    for batch in range(BATCHES):
        started = now
        for each in range(EACH):
            body = WAIT if number == long_at else BODY
            wait = wait_us if each == 1 else 0.0
            args: dict[str, Any] = {"index": number, "cpu_us": body}
            args |= {} if training else {"batch": batch, "epoch": 0, "worker": 0}
            builder.add("user_annotation", "sample::Docs", now, body + wait, pid=pid, tid=pid, **args)
            builder.add("user_annotation", "transform::Cut", now, body + wait, pid=pid, tid=pid, **args)
            if wait:
                for column, value in zip(readings, (now + body, wait, pid), strict=True):
                    readings[column].append(value)
            now += body + wait
            number += 1
        builder.step(started, now - started + 1_000).wait(started, now - started + 500, "wait::DataLoader")
        if not training:
            builder.batch(batch, 0, started - 500, started, now, now + 400)
        now += 1_000
    more: dict[str, Any] = {"cpu_readings": readings} if said else {}
    builder.annotated(loaders=[{"num_workers": 0 if training else 1, "batch_size": EACH}], host={"cores": 8}, **more)
    return builder if training else builder.worker(0)


def row(capture: Capture, name: str) -> Any:
    (found,) = (stage for stage in capture.stages if stage.path[-1] == name)
    return found


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["sample::Docs", "transform::Cut"])
def test_percentiles_and_the_histogram_are_without_it_and_totals_with_it(training: bool, name: str) -> None:
    capture, before = (capture_of(loop(said=said, training=training)) for said in (True, False))
    stage, old = row(capture, name), row(before, name)
    assert stage.p95_us == stage.max_us == pytest.approx(BODY)
    assert old.p95_us == old.max_us == pytest.approx(BODY + WAIT)
    for column in ("count", "total_us", "self_us", "cpu_us", "blame_us"):
        assert getattr(stage, column) == getattr(old, column)
    assert stage.total_us == pytest.approx(SAMPLES * BODY + BATCHES * WAIT)
    (detail,) = (each for each in capture.stage_details if each.name == name)
    assert (detail.p50_us, detail.max_us, detail.histogram.edges_us[-1]) == pytest.approx((BODY,) * 3, rel=0.01)
    assert detail.slowest[0].duration_us == pytest.approx(BODY)
    assert max(call.span_us for call in detail.slowest) == pytest.approx(BODY + WAIT), "as the timeline draws it"


def test_a_wait_goes_on_meanwhile() -> None:
    """Stages had a p50 of 5.81 ms for the waits that Overview had 26.2 ms for."""
    wait = row(capture_of(loop(said=True, training=True)), "wait::DataLoader")
    assert wait.p50_us == wait.max_us == pytest.approx(EACH * BODY + WAIT + 500)


def test_a_sample_that_only_lost_its_cpu_there_is_not_the_slowest() -> None:
    capture = capture_of(loop(said=True, long_at=6))
    slowest = capture.slow_samples[0]
    assert slowest.index == 6
    assert (slowest.duration_us, slowest.reading_us) == pytest.approx((WAIT, 0.0))
    assert {sample.index % EACH for sample in capture_of(loop(said=False, long_at=6)).slow_samples[:3]} == {1}


def test_it_is_said_beside_a_slow_sample_that_has_it_too() -> None:
    capture = capture_of(loop(said=True, long_at=5))
    slowest = capture.slow_samples[0]
    assert (slowest.index, slowest.stage) == (5, "transform::Cut")
    assert (slowest.duration_us, slowest.stage_us, slowest.reading_us) == pytest.approx((WAIT, WAIT, WAIT))
    assert slowest.span_us == pytest.approx(2 * WAIT), "as the timeline draws it"
    text = as_text(as_report([capture]))
    assert "not counting 20.0 ms of waiting for a CPU in annotate's own code" in " ".join(text.split())


def test_a_wait_that_is_little_beside_the_sample_is_not_said() -> None:
    slowest = capture_of(loop(said=True, long_at=5, wait_us=WAIT / 20)).slow_samples[0]
    assert slowest.index == 5
    assert (slowest.duration_us, slowest.reading_us) == pytest.approx((WAIT, 0.0))


def test_columns_that_do_not_fit_together_are_left_out() -> None:
    builder = loop(said=True)
    builder.top_level["dataPipeline"]["cpu_readings"]["pid"].pop()
    assert row(capture_of(builder), "sample::Docs").max_us == pytest.approx(BODY + WAIT)
