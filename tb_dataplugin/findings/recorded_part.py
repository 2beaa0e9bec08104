"""What of a stage's time is no gain, since recording has it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
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
    return _beside_gain(signals, rows, min(saved_us * share / (1 - share), most_us - saved_us), "there")


def _beside_gain(signals: Signals, rows: Sequence[StageCalls], recording_us: float, where: str) -> tuple[Evidence, ...]:
    if recording_us <= 0:
        return ()
    operators, spans = sum(row.operators for row in rows), sum(row.spans for row in rows)
    steps = signals.step_count or 0
    each, per = max(1, steps), " per step" if steps else ""
    many = recorded_text(operators / each, spans / each)
    what = f"recording {many}{per} {where}" if spans else f"torch's profiler, which recorded {many}{per} {where}"
    more = f"; {NOT_PROBED}" if any(row.is_unprobed for row in rows) else ""
    some = f"another {duration(recording_us / each)}{per} or more, by estimate,"
    text = f"{some} is {what}: runs without it do not have that{more}"
    return (time(LESS_PROFILER, recording_us, text),)


def recorded_wait_us(signals: Signals, but: Collection[str] = ()) -> float:
    """What recording has of `Signals.wait_cost_us`, at least, where the training thread builds its batches itself: a
    run without it waits less by that, so that nothing saves it. 0 where it is too little to matter, or not known: with
    workers, or another thread that builds, the rest of a step gets shorter as well, and hides less.

    Args:
        but: without stages of these kinds.
    """
    cost_us = signals.wait_cost_us or 0.0
    if signals.num_workers != 0 or signals.built_beside is not None or _is_unknown(signals):
        return 0.0
    us = sum(row.profiler_share * signals.cost_of([row]) for row in signals.stages if row.stage.kind not in but)
    return us if us >= WORTH_A_WORD * cost_us else 0.0


def _is_unknown(signals: Signals) -> bool:
    """Whether recording may have taken most of a stage that counts."""
    least_us = WORTH_A_WORD * (signals.wait_cost_us or 0.0)
    return any(row.unknown and signals.cost_of([row]) >= least_us for row in signals.stages)


def recorded_of_wait(signals: Signals, recording_us: float, *, is_in_bound: bool) -> tuple[Evidence, ...]:
    """For a change by which all of the data wait may go. `recording_us`: of `recorded_wait_us`, what may go with it.
    `is_in_bound`: something else keeps the gain so low that this was not taken off.
    """
    if _is_unknown(signals):
        return (
            Evidence(LESS_PROFILER, "how much of this is recording, which runs without it do not have, is not known"),
        )
    each = signals.per_step(recording_us)
    if not is_in_bound or not each:
        return _beside_gain(signals, signals.stages, recording_us, "in the data wait")
    some = f"of the data wait {duration(each)} per step or more, by estimate,"
    return (time(LESS_PROFILER, recording_us, f"{some} is recording: runs without it do not have that"),)
