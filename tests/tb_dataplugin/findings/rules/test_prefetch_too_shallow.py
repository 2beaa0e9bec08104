from __future__ import annotations

from collections.abc import Sequence

import pytest

from tb_dataplugin.export.as_text import as_text
from tb_dataplugin.findings.thresholds import WORKERS_STARVED
from tb_dataplugin.pipeline import as_report
from tests.tb_dataplugin.analyses.test_apart import built_here
from tests.tb_dataplugin.findings.cases import capture_of, evidence_of, finding_in, finding_of, signals_of
from tests.trace_builder import TraceBuilder


def one_worker(
    build: Sequence[float], own: Sequence[float], evaluation: float = 0.0, prefetch: int = 2
) -> TraceBuilder:
    """As torch hands batches out: `prefetch` are asked for ahead. Milliseconds of each batch, and of each step beside
    the data wait; `evaluation`: in the step after every eighth one, for so long another DataLoader is iterated.
    """
    loaders = [{"num_workers": 1, "batch_size": 1, "prefetch_factor": prefetch}, {"num_workers": 1, "batch_size": 1}]
    builder = TraceBuilder().annotated(loaders=loaders[: 2 if evaluation else 1], host={"cores": 8}).worker(0)
    consumed, finished, begin = [0.0] * prefetch, 0.0, 0.0
    for number, (took, rest) in enumerate(zip(build, own, strict=True)):
        started = max(consumed[-prefetch], finished) + 0.01
        finished = started + took
        consumed.append(max(begin, finished) + 0.05)
        pause = evaluation if number % 8 == 7 else 0.0
        end = consumed[-1] + 0.05 + rest + pause
        builder.step(1000 * begin, 1000 * (end - begin))
        builder.wait(1000 * begin, 1000 * (consumed[-1] + 0.05 - begin), "wait::DataLoader")
        spans = {"sample::Pets": (1000 * started, 1000 * took)}
        builder.batch(
            number, 0, 1000 * consumed[-prefetch - 1], 1000 * started, 1000 * finished, 1000 * consumed[-1], spans
        )
        begin = end
    builder.batch(len(build), 0, 1000 * consumed[-2], 1000 * consumed[-2], None, None)
    return builder


UNEVEN = [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 30.0] * 6


def test_slow_batches_among_fast_ones_ask_for_a_deeper_queue() -> None:
    said = finding_in(one_worker(UNEVEN, [6.0] * 48), "prefetch_too_shallow")
    assert "prefetch_factor=4" in said.code
    assert "building a batch takes 2.00 ms (median), 30.0 ms at p95" in evidence_of(said)


def test_workers_starved_in_a_lone_pause_are_no_sign_of_a_short_queue() -> None:
    """Its even batches are late in all steps, and its worker is starved in the pause only."""
    builder = one_worker([10.0, 11.0, 12.0, 11.0] * 3, [4.0] * 12, evaluation=100.0)
    signals = signals_of(builder)
    assert signals.workers is not None and signals.workers.smoothing is not None
    assert signals.workers.starved > WORKERS_STARVED > 20 * signals.workers.smoothing.starved
    assert finding_of(builder, "prefetch_too_shallow") is None


LONG_STEPS = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 49.0] * 6


def test_uneven_steps_alone_are_no_uneven_builds() -> None:
    signals = signals_of(one_worker([10.0, 10.2] * 24, LONG_STEPS))
    assert signals.workers is not None and signals.workers.smoothing is not None
    assert signals.workers.smoothing.excess_us < 0.05 * signals.window_us


def test_a_longer_queue_is_filled_in_steps_that_are_long_again_and_again() -> None:
    now, longer = (one_worker([10.0, 10.2] * 24, LONG_STEPS, prefetch=prefetch) for prefetch in (2, 4))
    said = finding_in(now, "prefetch_too_shallow")
    assert "In the loop's long steps the queue is full" in said.advice and "differ from batch" not in said.advice
    assert "starved for 21.3% of the window in 5 long steps of the loop" in evidence_of(said)
    before, after = (signals_of(builder).mean_step_us for builder in (now, longer))
    assert before is not None and after is not None and said.gain_us_per_step is not None
    assert 0 < before - after < 1.01 * said.gain_us_per_step
    assert finding_of(one_worker([10.0, 10.2] * 24, [29.0] * 48), "prefetch_too_shallow") is None


LONGER_STEPS = [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 250.0] * 6


@pytest.mark.parametrize("evaluates", [False, True])
def test_a_bound_is_what_a_longer_queue_holds_however_long_the_pauses_are(evaluates: bool) -> None:
    """Two batches more of 10 ms in each pause: 20 ms of 8 steps, and not the 0.23 s for which the worker is starved."""
    now, longer = (paused(evaluates, prefetch) for prefetch in (2, 4))
    said = finding_in(now, "prefetch_too_shallow")
    before, after = (signals_of(builder).mean_step_us for builder in (now, longer))
    assert before is not None and after is not None and said.gain_us_per_step is not None
    assert 1_000 < before - after < 1.01 * said.gain_us_per_step < 3_000
    assert ("while the loop waits for another DataLoader" in " ".join(evidence_of(said))) == evaluates


def paused(evaluates: bool, prefetch: int) -> TraceBuilder:
    builder = one_worker([10.0, 10.2] * 24, LONGER_STEPS, prefetch=prefetch)
    if not evaluates:
        return builder
    builder.annotated(
        loaders=[
            {"num_workers": 1, "batch_size": 1, "prefetch_factor": prefetch},
            {"num_workers": 0, "batch_size": 100, "dataset": "Clicks"},
        ],
        host={"cores": 8},
    )
    for step in [one for one in builder.events if str(one.get("name", "")).startswith("ProfilerStep#")]:
        if step["dur"] > 200_000:
            at = int(step["ts"] + step["dur"]) - 240_000
            for _ in range(3):
                at = built_here(builder, at, 100, 700) + 1_000
    return builder


def test_workers_idle_at_the_end_of_an_epoch_are_no_reason_for_a_deeper_queue() -> None:
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 1, "batch_size": 1}]).worker(0).step(0, 1000)
    builder.wait(0, 300).batch(0, 0, 0, 0, 300, 299)
    assert finding_of(builder, "prefetch_too_shallow") is None


def drawn_slowly() -> TraceBuilder:
    """Two workers that build a batch in 0.2 ms; of steps of 10 ms 8 are drawing indices, 1 receiving the batch."""
    builder = TraceBuilder().annotated(loaders=[{"num_workers": 2, "batch_size": 8}], host={"cores": 8})
    builder.worker(0).worker(1)
    for number in range(10):
        begin = 10_000 * number
        builder.step(begin, 10_000).wait(begin, 9_000, "wait::DataLoader").stage("sampler::ByLoss", begin + 900, 8_000)
        built = begin - 19_000
        builder.batch(
            number, number % 2, built, built + 10, built + 210, begin + 9_000, {"sample::Pets": (built + 10, 200)}
        )
    return builder


def test_slow_drawing_of_indices_is_no_reason_for_a_deeper_queue() -> None:
    assert finding_of(drawn_slowly(), "prefetch_too_shallow") is None
    assert finding_in(drawn_slowly(), "leading_stage").stage == "sampler::ByLoss"


def test_what_is_around_the_loader_has_a_rate_and_is_the_limit_where_most_time_goes_to_it() -> None:
    throughput = capture_of(drawn_slowly()).throughput
    assert throughput.around_per_s == pytest.approx(8 / 0.008, rel=0.01)
    assert throughput.samples_per_s < throughput.around_per_s < throughput.device_per_s < throughput.prepare_per_s
    assert throughput.slowest_part == "around"
    text = " ".join(as_text(as_report([capture_of(drawn_slowly())])).split())
    assert "around the loader 1,000, training step" in text and "what is around the loader limits" in text
