"""The sentence that answers first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.findings.verdict import judge_run
from tb_dataplugin.findings.worker_signals import WorkerSignals
from tests.tb_dataplugin.findings.cases import launching, signals_of
from tests.tb_dataplugin.findings.rules.test_python_pauses import paused


def verdict(steady_share: float, low: float) -> str:
    """Of a loop whose launches are slow, and whose queue empties in the window."""
    signals = signals_of(launching())
    wait, share = Estimate(4e6, 1e5, 6e6), Estimate(steady_share, low, 0.95)
    unsteady = SteadyState("draining", 8e3, 0.008, wait, share, 100.0, 1e6, 4.0, 1.0)
    cost = steady_share * signals.loop_us
    return judge_run(replace(signals, unsteady=unsteady, wait_cost_us=cost)).sentence


def test_what_is_large_and_measured_comes_before_what_is_estimated() -> None:
    said = verdict(0.16, low=0.01)
    first, then = said.index("because the host launches operators more slowly"), said.index("in the steady state")
    assert first < then and "about 16.0% of the time (95% interval 1.00% to 95.0%; in" in said
    assert "most of it for" not in said, "that is of the window's wait"


def test_an_estimate_that_is_larger_than_any_cause_leads() -> None:
    said = verdict(0.9, low=0.8)
    assert "launches operators" not in said and "about 90.0% of the time (in this window" in said


@pytest.mark.parametrize(("busy", "is_said"), [(0.95, True), (0.5, False)])
def test_workers_that_hardly_keep_up_are_not_acquitted_without_a_word(busy: float, is_said: bool) -> None:
    signals = signals_of(launching().annotated(loaders=[{"num_workers": 2}]))
    workers = WorkerSignals(2, 2.0, 5.0, busy, 0.0, 0, 1.0)
    sentence = judge_run(replace(signals, workers=workers)).sentence
    assert ("could hardly keep up with a faster step" in sentence) is is_said


def test_a_line_that_few_samples_name_is_said_with_their_number() -> None:
    few, many = (judge_run(signals_of(paused(80, every_ms=every))).sentence for every in (8, 2))
    assert "of the idle time, by 50 stack samples, goes to" in few
    assert "stack samples" not in many and "of the idle time goes to" in many


@pytest.mark.parametrize(
    ("cost_us", "words"),
    [
        (0.0, "; data wait causes no idle time in the window: the DataLoader is not"),
        (5.0, "; it waits for data for only 0.50% of the window: the DataLoader is not"),
    ],
)
def test_where_no_idle_time_is_data_wait_no_share_of_it_is_said(cost_us: float, words: str) -> None:
    """A batch may be late all the same, while the device has work."""
    signals = replace(signals_of(launching(20).annotated()), wait_cost_us=cost_us)
    assert words in judge_run(signals).sentence
