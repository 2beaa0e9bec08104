"""The sentence that answers first."""

from __future__ import annotations

from dataclasses import replace

from tb_dataplugin.analyses.resampling import Estimate
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.findings.verdict import judge_run
from tests.tb_dataplugin.findings.cases import launching, signals_of


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
    assert first < then and "about 16.0% of the time (95% interval 1.00% to 95.0%)" in said
    assert "most of it for" not in said, "that is of the window's wait"


def test_an_estimate_that_is_larger_than_any_cause_leads() -> None:
    said = verdict(0.9, low=0.8)
    assert "launches operators" not in said and "about 90.0% of the time, but" in said
