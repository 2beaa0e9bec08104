"""What the bound of a stage in the training thread cannot have: that the rest of a step gets faster, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.findings.evidence import Evidence
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import MOSTLY_BLOCKED
from tb_dataplugin.words import GAIN_BOUND

BESIDE_BOUND: Final = f"{GAIN_BOUND}_beside"


def beside_bound(signals: Signals, finding: Finding) -> Iterator[Evidence]:
    """For a finding that saves data wait: after a pause, or a read, caches may be cold for what runs next."""
    rows = [calls for calls in signals.stages if calls.stage.name == finding.stage]
    if signals.num_workers != 0 or not rows:
        return
    blocked = sum(calls.cpu_use.blocked_us for calls in rows if calls.cpu_use is not None)
    if rows[0].stage.kind == "read" or blocked >= MOSTLY_BLOCKED * sum(calls.self_us for calls in rows) > 0:
        text = "that is data wait alone: without it the rest of the step may get faster, too, with warmer caches"
        yield Evidence(BESIDE_BOUND, text)
