"""Finished batches wait behind an earlier one, and their workers are starved meanwhile.

Some later batch is nearly always finished while workers take turns. Taking it first only helps as far as workers stand
still because of it: a worker that is busy all the time cannot build more. Where workers differ, that is what to change
(`uneven_workers`): one of an iterable dataset has to deliver its own part, in whatever order.
"""

from __future__ import annotations

from tb_dataplugin.findings.evidence import share, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.limiting import expects_gain, limiting_pace
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import HEAD_OF_LINE, WORKERS_STARVED
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif import Change


@rule(title="Head-of-line waits", about="delivery", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    cost = signals.measured_cost_us
    if not cost:
        return None
    if signals.workers is None:
        return Abstention("The DataLoader workers left no records, so when batches were finished is unknown.")
    held_back, starved = signals.head_of_line_us / cost, signals.workers.starved
    if held_back < HEAD_OF_LINE or starved < WORKERS_STARVED:
        return None
    if (signals.loader is not None and signals.loader.in_order is False) or signals.lock_limits_wait:
        return None
    if limiting_pace(signals) is not None and signals.loader is not None and signals.loader.iterable:
        return None
    lost = min(signals.in_steady_state(signals.head_of_line_us), starved * signals.own_window_us)
    promise = signals.promise(Change(in_order=False), signals.per_step(lost))
    if promise.without_gain or expects_gain(signals, Change(in_order=False)) is False:
        return None
    whole = "time that the device waits for data" if signals.has_device else "data wait"
    starved_text = f"DataLoader workers are starved for {percent(starved)} {signals.workers.of_whole}"
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=lost),
        title=f"For {percent(held_back)} of the {whole}, a later batch was finished but held back by an earlier one",
        advice="If the order of batches does not matter, take whichever finishes first (torch 2.6 or later). Runs "
        "are then no longer reproducible batch by batch. Look for slow samples, too.",
        evidence=(
            time(
                "head_of_line",
                signals.head_of_line_us,
                f"{duration(signals.head_of_line_us)} of {duration(cost)} of {signals.cost_name}",
            ),
            share("workers_starved", starved, signals.workers.whole, starved_text),
            *promise.why,
        ),
        gain_us_per_step=promise.us_per_step,
        code="DataLoader(..., in_order=False)",
        change=Change(in_order=False),
        confidence="likely",
        confidence_reason="It helps only where workers are starved because the queue is full.",
    )
