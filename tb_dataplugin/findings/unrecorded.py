"""What the data wait would be without torch's profiler: its own time makes the rest of a step longer, and DataLoader
workers build meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.foresight import WORTH_SAYING, Foresight
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.findings.unrecorded_signals import UnrecordedWait
from tb_dataplugin.units import duration, percent
from tb_dataplugin.words import GAIN_BOUND

WITHOUT_PROFILER: Final = f"{GAIN_BOUND}_without_profiler"
SLOWED: Final = "without torch's profiler, which slows launches, the rest of a step is shorter, and more can go"


def find_unrecorded_wait(results: Results, foresight: Foresight) -> UnrecordedWait | None:
    """None where there is little more than was measured, or nothing to tell: with a device the profiler's time may be
    time in which the host waits for that, and without DataLoader workers the profiler slows what they would do as well.
    """
    weight = results.profiler_weight
    has_workers = results.settings is not None and bool(results.settings.num_workers)
    if weight is None or not weight.is_noticed or weight.is_unknown or results.devices or not has_workers:
        return None
    found = foresight.without_profiler(weight.ratio)
    if found is None or found.more_wait_ns < INPUT_BOUND * found.step_ns:
        return None
    most = foresight.without_profiler(weight.most_ratio) or found
    more_ns = max(most.more_wait_ns, found.more_wait_ns)  # said with "up to"
    return UnrecordedWait(found.wait_ns / found.step_ns, more_ns / 1e3, weight.added_us.likely)


def unrecorded_evidence(signals: Signals) -> Iterator[Evidence]:
    """For the verdict."""
    found = signals.unrecorded_wait
    if found is not None:
        text = (
            f"without torch's profiler the data wait would be about {percent(found.share)} of a step (estimated): "
            f"recording makes the rest of a step about {duration(found.profiler_us)} longer, and DataLoader workers "
            "build meanwhile"
        )
        yield share("unrecorded_wait", found.share, "step", text)


def more_to_gain(signals: Signals, gain_us: float) -> Iterator[Evidence]:
    """For a finding that saves so much data wait per step: as large a part of what there is without the profiler."""
    found, wait_us = signals.unrecorded_wait, signals.per_step(signals.wait_cost_us or 0.0)
    if signals.slows_launches and (signals.share(signals.idle.by_cause_us.get("launch")) or 0.0) >= INPUT_BOUND:
        yield Evidence(WITHOUT_PROFILER, SLOWED)
    if found is None or not signals.step_us:
        return
    more_us = found.more_us * min(1.0, gain_us / wait_us if wait_us else 1.0)
    if more_us >= WORTH_SAYING * signals.step_us:
        text = f"without torch's profiler up to about {duration(more_us)} per step more (estimated)"
        yield time(WITHOUT_PROFILER, more_us, text, whole="step")
