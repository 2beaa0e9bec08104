"""Batches take different times to build, or steps do, and workers are starved between the waits: with a deeper queue
they would be ahead when a slow batch comes, or after a long step.
"""

from __future__ import annotations

from typing import Final

from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.foresight import Promise
from tb_dataplugin.findings.limiting import expects_gain, limiting_pace
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import WORTH_SAYING
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_STARVED
from tb_dataplugin.findings.worker_signals import SmoothingSignals
from tb_dataplugin.units import duration, percent, plural
from tb_dataplugin.whatif import Change

SMOOTHED: Final = "Build times differ from batch to batch, and the queue is too short to smooth that out. "
AHEAD: Final = (
    "While the loop waits for another DataLoader, the queue is full: a longer one is filled meanwhile, and the loop "
    "has these batches afterwards. "
)
PAUSED: Final = (
    "In the loop's long steps the queue is full: a longer one is filled meanwhile, and the steps after them have these "
    "batches. "
)


@rule(title="Too little prefetching", about="delivery", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    if signals.loader is None or signals.wait_cost_us is None or signals.lock_limits_wait:
        return None
    workers, waited = signals.workers, signals.wait_cost_us - _here_us(signals)
    if (signals.loop_share(waited) or 0.0) < INPUT_BOUND:
        return None
    if workers is None:
        return Abstention("The DataLoader workers left no records, so whether they were starved is unknown.")
    smoothing = workers.smoothing
    if smoothing is None or limiting_pace(signals) is not None:
        return None  # a longer queue waits for the slowest worker as well
    smoothed = _smoothed_us(signals, smoothing, waited)
    ahead, paused = (_worth_it(signals, us) for us in (smoothing.ahead_us, smoothing.paused_us))
    if not smoothed and not ahead and not paused:
        return None
    factor = signals.loader.prefetch_factor or 2
    change = Change(prefetch=2 * factor)
    held = (smoothing.ahead_most_us if ahead else 0.0) + (smoothing.paused_most_us if paused else 0.0)
    most = min(waited, smoothed + held)
    if (signals.loop_share(most) or 0.0) < WORTH_SAYING:
        return None
    promise = signals.promise(change, signals.per_step(most))
    if promise.without_gain or expects_gain(signals, change) is False:
        return None
    starved = f"starved for {percent(workers.starved)} {workers.of_whole}"
    return Finding(
        severity=severity(signals, _counted_us(promise), otherwise_us=waited),
        title=f"DataLoader workers are {starved}, yet batches come late",
        advice=f"{SMOOTHED if smoothed else ''}{AHEAD if ahead else ''}{PAUSED if paused else ''}Let the workers "
        "prefetch more. Each additional batch per DataLoader worker takes memory.",
        evidence=(
            Evidence("settings", f"prefetch_factor={factor}, num_workers={signals.num_workers}"),
            share("workers_starved", workers.starved, workers.whole, starved),
            time("build_p95", smoothing.p95_us, smoothing.text),
            *_starved(signals, ahead, "while the loop waits for another DataLoader"),
            *_starved(signals, paused, f"in {plural(smoothing.pauses, 'long step')} of the loop"),
            time("steady_wait", waited, _wait_text(signals, waited)),
            *promise.why,
        ),
        gain_us_per_step=promise.us_per_step,
        code=f"DataLoader(..., prefetch_factor={2 * factor})",
        change=change,
        confidence="likely",
        confidence_reason="It helps only where slow batches are followed by fast ones."
        if smoothed
        else "How far a longer queue is filled in that time is predicted, not measured.",
    )


def _counted_us(promise: Promise) -> float | None:
    return promise.us_per_step if promise.likely_us is None else promise.likely_us


def _smoothed_us(signals: Signals, smoothing: SmoothingSignals, waited_us: float) -> float:
    """Of the data wait, at most, without waits for batches that were finished; 0 where nearly all batches take the same
    time: there is little to smooth out.
    """
    late = waited_us - signals.in_steady_state(signals.on_way_us)
    is_uneven = (signals.share(smoothing.excess_us) or 0.0) >= INPUT_BOUND
    if smoothing.starved < WORKERS_STARVED or not is_uneven or (signals.loop_share(late) or 0.0) < INPUT_BOUND:
        return 0.0
    return min(late, smoothing.starved * signals.own_window_us, smoothing.excess_us)


def _worth_it(signals: Signals, starved_us: float) -> float:
    """In which queues would be filled while workers are starved now; 0 where that is little."""
    return starved_us if (signals.share(starved_us) or 0.0) >= INPUT_BOUND else 0.0


def _starved(signals: Signals, us: float, when: str) -> tuple[Evidence, ...]:
    part = signals.share(us)
    if not us or part is None:
        return ()
    return (share("starved_ahead", part, "window", f"starved for {percent(part)} of the window {when}"),)


def _here_us(signals: Signals) -> float:
    """What no queue shortens: work of the training thread."""
    here = signals.wait_for_kinds("sampler", "wrapper")
    return here.cost_us if here else 0.0


def _wait_text(signals: Signals, steady: float) -> str:
    if signals.unsteady is not None:
        return f"about {duration(steady)} of {signals.cost_name} in as many steps of the steady state (estimated)"
    return f"{duration(steady)} of {signals.cost_name}{' of the loop' if signals.apart else ''}"
