"""What of stages' time gets shorter with less data to work on."""

from __future__ import annotations

from collections.abc import Iterable

from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import HIDDEN_THREADS


def by_size(signals: Signals, rows: Iterable[StageCalls]) -> list[StageCalls]:
    """These calls without the time in which they were blocked: who sleeps, or waits for a server, does so for a small
    sample as well. But where libraries run threads of their own in DataLoader workers, that may be waiting for these,
    which work. Nor do exceptional calls of a decoder count, such as one file in another format: what was measured of
    typical ones says nothing of them.
    """
    costs, typical = signals.costs, [row.typical() for row in rows]
    if costs is not None and (costs.threads or 0.0) >= HIDDEN_THREADS:
        return typical
    return [row.unblocked() for row in typical]
