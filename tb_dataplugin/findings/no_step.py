"""A window without a whole step: nothing is judged by it, neither the loop nor what the program did instead."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.finding import NamedAbstention
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.verdict import Verdict
from tb_dataplugin.units import duration

NOT_CHECKED: Final = NamedAbstention(
    "no_whole_step", "All checks", "They are about the loop as it goes on, and no whole step of it was recorded."
)


def is_without_steps(signals: Signals) -> bool:
    return any(doubt.code == "no_whole_step" for doubt in signals.doubts)


def verdict_without_steps(signals: Signals) -> Verdict:
    """Data wait is said for a loop that ended because nobody wanted to wait any longer."""
    waited = ""
    if signals.data_wait_us is not None:
        waited = (
            f" In its {duration(signals.window_us)} the training thread waited for data for "
            f"{duration(signals.data_wait_us)}."
        )
    return Verdict("unknown", f"The window has no whole step, so it shows nothing of the loop as it goes on.{waited}")
