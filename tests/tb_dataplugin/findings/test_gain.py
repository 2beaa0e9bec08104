"""What a change may save, with the interval that a window's length leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.taken_cpus import TakenCpus
from tb_dataplugin.findings.at_starts import AT_STARTS
from tb_dataplugin.findings.gain import gain_of
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.report.report_pb2 import Capture, Finding
from tb_dataplugin.report.rows import row_of
from tests.tb_dataplugin.findings.cases import capture_of, input_bound, signals_of
from tests.trace_builder import TraceBuilder


@pytest.fixture
def signals() -> Signals:
    return replace(signals_of(input_bound()), wait_may_exceed=0.25)


def test_a_bound_on_data_wait_is_as_uncertain_as_the_windows_data_wait(signals: Signals) -> None:
    gain = gain_of(2000.0, signals, of_wait=True)
    assert gain.high_us_per_step == 2500.0
    assert gain.text.startswith("saves up to 2.00 ms per step (")
    assert "2.50" not in gain.text, "one number is said"


def test_an_interval_that_takes_in_the_whole_step_says_nothing(signals: Signals) -> None:
    assert signals.mean_step_us is not None
    gain = gain_of(0.9 * signals.mean_step_us, signals, of_wait=True)
    assert gain.high_us_per_step is None
    assert "95%" not in gain.text


def test_an_interval_ends_at_all_of_the_data_wait_and_what_the_step_may_get(signals: Signals) -> None:
    assert signals.taken is None and signals.per_step(signals.wait_cost_us or 0.0) == 8000.0
    assert gain_of(7000.0, signals, of_wait=True).high_us_per_step == 8000.0
    assert gain_of(8000.0, signals, of_wait=True).high_us_per_step is None
    taken = TakenCpus(own_ns=8e6, delayed=0.25, threads=1.0, workers_ns=8e6, by_workers=1.0)  # 500 us a step
    assert gain_of(7000.0, replace(signals, taken=taken), of_wait=True).high_us_per_step == pytest.approx(8500.0)


def test_an_interval_that_ends_at_all_of_the_data_wait_is_one_also_where_the_wait_may_exceed_the_step(
    signals: Signals,
) -> None:
    """Of two findings on the same data wait the one with the higher bound had no interval."""
    wide = replace(signals, wait_may_exceed=0.5)
    assert signals.mean_step_us == pytest.approx(10_000) and 7000.0 * 1.5 > 10_000
    assert gain_of(7000.0, wide, of_wait=True).high_us_per_step == 8000.0
    assert gain_of(6000.0, wide, of_wait=True).high_us_per_step == 8000.0


def test_a_share_of_the_step_is_that_of_the_step_it_is_printed_beside(signals: Signals) -> None:
    """By little more, where as much time lies between steps, or by twice as much."""
    steps, window_us = signals.step_count or 0, signals.window_us
    shorter = replace(signals, mean_step_us=0.99 * window_us / steps)
    little = gain_of(0.25 * window_us / steps, shorter)
    assert little.step_share == pytest.approx(0.25 / 0.99)
    assert little.text.endswith("per step (25.3% of it, 1.3x as fast)")
    assert little.of_step == "25.3% of a step of 9.90 ms"
    much = replace(signals, mean_step_us=0.5 * window_us / steps)
    assert gain_of(0.25 * window_us / steps, much).step_share == pytest.approx(0.5)
    assert "50.0% of a step of " in gain_of(0.25 * window_us / steps, much).text


def test_a_gain_that_is_more_than_the_mean_step_is_a_share_of_what_lies_between_steps_too(signals: Signals) -> None:
    steps, window_us = signals.step_count or 0, signals.window_us
    shorter = replace(signals, mean_step_us=0.99 * window_us / steps)
    assert gain_of(0.995 * window_us / steps, shorter).of_step == "99.5% of a step of 10.0 ms"


def test_what_is_no_data_wait_has_no_interval(signals: Signals) -> None:
    gain = gain_of(2000.0, signals)
    assert gain.high_us_per_step is None
    assert gain.text.startswith("saves up to 2.00 ms per step (")


def test_an_interval_that_nobody_would_see_is_not_mentioned(signals: Signals) -> None:
    assert gain_of(2000.0, replace(signals, wait_may_exceed=0.009), of_wait=True).high_us_per_step is None


def test_nothing_is_claimed_of_an_unknown_gain(signals: Signals) -> None:
    assert gain_of(None, signals, of_wait=True).text == "gain unknown"
    replayed = gain_of(None, replace(signals, mode="replay"))
    assert replayed.text == "gain unknown: a replay has no training loop that could become faster"


def with_starts(*starts: int, built_us: int = 380, first: int = 0, **settings: int) -> TraceBuilder:
    """Steps of 1 ms, of which each waits 0.4 ms for its batch, and starts of epochs that take 2 ms more. Their batches
    are `built_us` in a transform, as long as the wait lasts. `first`: number of the first one in its epoch.
    """
    loader = {"num_workers": 1, "batch_size": 1, "persistent_workers": False, **settings}
    builder = TraceBuilder().annotated(loaders=[loader])
    builder.worker(0)
    begun = -first
    for number in range(10):
        start = 1000 * number + 2000 * sum(each <= number for each in starts)
        name, extra, built = (" (first batch)", 2000, built_us) if number in starts else ("", 0, 380)
        builder.step(start - extra, 1000 + extra).wait(start - extra, 400 + extra, f"wait::DataLoader{name}")
        if number in starts:
            builder.next_epoch()
            begun = number
        stages = {"transform::Slow": (start + 390 - built, built)}
        builder.batch(number - begun, 0, start - extra, start + 385 - built, start + 395, start + 399, stages)
    return builder


def of_stage(capture: Capture) -> Finding:
    (finding,) = (finding for finding in capture.findings if finding.stage == "transform::Slow")
    return finding


def test_what_a_stage_saves_has_its_part_of_starts_that_come_again_and_again() -> None:
    """It has 1.9 of 2.4 ms in each of three starts, three steps apart. The limit of the loop's part is none of that."""
    capture = capture_of(with_starts(2, 5, 8, built_us=1900))
    finding = of_stage(capture)
    at_starts = next(fact for fact in finding.evidence if fact.kind == AT_STARTS)
    assert at_starts.value == pytest.approx(1900 / 3)
    assert "633 µs per step of that is data wait at the starts of epochs, 1.90 ms at each" in at_starts.text
    of_table = capture.loader.wait_by_stage_us["transform::Slow"] / 10
    assert of_table == pytest.approx((7 * 380 + 3 * 1900) / 10, rel=0.01)
    assert any("predicts no less than 704 µs" in fact.text for fact in finding.evidence)
    assert finding.gain_us_per_step - at_starts.value == pytest.approx(880 - 704)
    step_us = finding.gain_us_per_step / finding.gain_step_share
    assert finding.speedup == pytest.approx(step_us / (step_us - finding.gain_us_per_step))
    assert finding.gain_window_share == pytest.approx(finding.gain_step_share, rel=0.01)


def test_what_a_stage_has_of_a_start_by_chance_is_left_out_and_so_it_is_of_the_step() -> None:
    capture = capture_of(with_starts(5, built_us=1900))
    finding = of_stage(capture)
    assert AT_STARTS not in {fact.kind for fact in finding.evidence}
    assert finding.gain_us_per_step <= 9 * 400 / 10
    assert ", without the epoch's start" in finding.gain_text
    assert finding.gain_us_per_step / finding.gain_step_share == pytest.approx(960)


def test_an_interval_is_of_the_loops_part_of_a_bound_alone(signals: Signals) -> None:
    assert gain_of(3000.0, signals, of_wait=True, at_starts_us=1000.0).high_us_per_step == 3500.0


def test_a_gain_that_knows_nothing_of_recurring_starts_is_said_to_be_without_them() -> None:
    signals = signals_of(with_starts(2, 5, 8))
    assert "per step, without the starts of epochs (" in gain_of(100.0, signals, of_wait=True).text
    assert "without" not in gain_of(100.0, signals, of_wait=True, at_starts_us=50.0).text
    assert "without" not in gain_of(100.0, signals).text


def test_gains_of_the_loop_and_of_epochs_starts_are_shares_of_one_step() -> None:
    findings = [finding for finding in capture_of(with_starts(2, 5, 8)).findings if finding.gain_step_share]
    assert {"slow_first_batch", "leading_stage"} <= {finding.rule for finding in findings}
    steps = {round(finding.gain_us_per_step / finding.gain_step_share) for finding in findings}
    assert len(steps) == 1 and steps.pop() > 1000
    names = {finding.gain_share_text.partition(" of ")[2] for finding in findings}
    assert len(names) == 1, names


def test_the_step_that_gains_are_shares_of_is_named_beside_a_mean_step_that_it_is_not() -> None:
    """In an epoch of four steps its start has less of each step than in the nine of the window after the first."""
    capture = capture_of(with_starts(1, 5, 9))
    assert capture.steps.gains_of.endswith(", its part of an epoch's start included")
    assert all(capture.steps.gains_of in finding.gain_text for finding in capture.findings if finding.gain_step_share)


def test_what_shortens_a_start_by_chance_is_a_share_of_a_step_with_its_part_of_that() -> None:
    """In an epoch of 30 steps its start has less of each step than in the ten of the window."""
    capture = capture_of(with_starts(5, first=25, sampler_length=30))
    shares = {finding.rule: finding.gain_share_text for finding in capture.findings if finding.gain_share_text}
    assert shares.pop("slow_first_batch").endswith(" of a step of 1.04 ms, its part of an epoch's start included")
    assert shares and all(text.endswith(" of a step of 960 µs, without the epoch's start") for text in shares.values())
    assert capture.steps.gains_of == "", "there is not one"
    assert row_of(capture).gains_of == capture.findings[0].gain_of != ""


def test_a_step_that_gains_are_shares_of_is_named_only_where_it_is_not_the_mean_step(signals: Signals) -> None:
    assert gain_of(2000.0, signals).long_step == ""
    assert gain_of(2000.0, signals).text.startswith("saves up to 2.00 ms per step (20.0% of it")


def test_the_step_that_gains_are_shares_of_is_called_as_the_mean_step_is_where_little_lies_between_steps() -> None:
    builder = TraceBuilder().annotated(loaders=[{"name": "DataLoader", "num_workers": 0, "batch_size": 1}])
    for number in range(10):
        start = 1010 * number
        builder.step(start, 1000).wait(start, 800, "wait::DataLoader").stage("transform::Blur", start, 780)
    capture = capture_of(builder)
    assert capture.steps.mean_us == pytest.approx(1000) and capture.window_us / 10 > 1008
    texts = [finding.gain_share_text for finding in capture.findings if finding.gain_share_text]
    assert texts and all(text.endswith(" of a step of 1.00 ms") for text in texts)
