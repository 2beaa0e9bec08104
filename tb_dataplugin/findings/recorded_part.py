"""What of a stage's time is no gain, since recording has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tb_dataplugin.analyses.stage_weight import WORTH_A_WORD
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.recorded_texts import NOT_PROBED, recorded_text, unknown_text
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.units import duration
from tb_dataplugin.words import GAIN_BOUND

LESS_PROFILER: Final = f"{GAIN_BOUND}_less_profiler"
"""What of the data wait is no gain, since recording has it: estimated."""

OF_RECORDING: Final = f"{GAIN_BOUND}_of_recording"
"""What of a gain is recording, as it has part of the data wait that goes."""


def recorded_share(rows: Sequence[StageCalls]) -> float:
    """Part of their time that recording took, at least: a run without it has no such time to save."""
    whole_us = sum(row.self_us for row in rows)
    return sum(row.profiler_share * row.self_us for row in rows) / whole_us if whole_us else 0.0


def recording(
    signals: Signals, rows: Sequence[StageCalls], saved_us: float, most_us: float = math.inf
) -> tuple[Evidence, ...]:
    """What that is beside `saved_us` of the rest of their time; both together are `most_us` at most."""
    share, unknown = recorded_share(rows), sum(row.unknown for row in rows)
    if unknown:
        text = unknown_text(unknown / max(1, signals.step_count or 0), " per step" if signals.step_count else "")
        return (Evidence(LESS_PROFILER, text),)
    recording_us = min(saved_us * share / (1 - share), most_us - saved_us)
    if recording_us <= 0:
        return ()
    operators, spans = sum(row.operators for row in rows), sum(row.spans for row in rows)
    steps = signals.step_count or 0
    each, per = max(1, steps), " per step" if steps else ""
    many = recorded_text(operators / each, spans / each)
    what = f"recording {many}{per} there" if spans else f"torch's profiler, which recorded {many}{per} there"
    more = f"; {NOT_PROBED}" if any(row.is_unprobed for row in rows) else ""
    some = f"another {duration(recording_us / each)}{per} or more, by estimate,"
    text = f"{some} is {what}: runs without it do not have that{more}"
    return (time(LESS_PROFILER, recording_us, text),)


def recorded_wait(signals: Signals) -> tuple[Evidence, ...]:
    """Of the data wait, for a change by which all of it may go, and which is no better for what recording has of it."""
    cost_us, rows = signals.wait_cost_us or 0.0, tuple(signals.stages)
    if any(row.unknown and signals.cost_of([row]) >= WORTH_A_WORD * cost_us for row in rows):
        return (
            Evidence(OF_RECORDING, "how much of this is recording, which runs without it do not have, is not known"),
        )
    us = sum(row.profiler_share * signals.cost_of([row]) for row in rows)
    each = signals.per_step(us)
    if each is None or us < WORTH_A_WORD * cost_us:
        return ()
    some = f"of the data wait {duration(each)} per step or more, by estimate,"
    text = f"{some} is recording: runs without it do not have that"
    return (time(OF_RECORDING, each, text, whole="step"),)
