"""What a stage costs in another DataLoader than the loop's: an evaluation of the same dataset runs the same code.

The gain of a finding about a stage is of the training loop alone: how often the other one is iterated in the long run
a window does not show.
"""

from __future__ import annotations

from tb_dataplugin.analyses.apart import names_of_apart
from tb_dataplugin.findings.apart_signals import WORTH_A_WORD
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.units import duration


def in_others(signals: Signals, finding: Finding) -> tuple[Evidence, ...]:
    """Nothing where that is next to nothing, or the finding is about no stage."""
    apart = signals.apart
    us = apart.for_others_us.get(finding.stage, 0.0) if apart else 0.0
    if apart is None or not finding.gain_us_per_step or us < WORTH_A_WORD * signals.window_us:
        return ()
    text = (
        f"it caused {duration(us)} of the data wait for {names_of_apart(0, 0, len(apart.others))} as well: what a "
        "change saves there is not in this gain"
    )
    return (time("in_others", us, text, stage=finding.stage),)
