"""How severe a finding is: by what it may gain, as a share of the window."""

from __future__ import annotations

from tb_dataplugin.findings.epoch_length import recurring_us_per_step
from tb_dataplugin.findings.finding import Severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HIGHLY_INPUT_BOUND, INPUT_BOUND


def severity(signals: Signals, gain_us_per_step: float | None, otherwise_us: float | None = None) -> Severity:
    """`otherwise_us`: time in the window that counts where the gain per step is not known."""
    gain = otherwise_us if gain_us_per_step is None else gain_us_per_step * (signals.step_count or 1)
    whole = signals.loop_us + recurring_us_per_step(signals) * (signals.step_count or 0)
    share = None if gain is None or not whole else gain / whole
    if share is None or share < INPUT_BOUND:
        return "low"
    return "high" if share >= HIGHLY_INPUT_BOUND else "medium"
