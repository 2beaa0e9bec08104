"""Batches take different times to build, and workers are starved between the waits: with a deeper queue they would be
ahead when a slow batch comes.
"""

from __future__ import annotations

from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.limiting import expects_gain, limiting_pace
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, WORKERS_STARVED
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif import Change


@rule(title="Too little prefetching", about="delivery", workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    if signals.loader is None or signals.wait_cost_us is None or signals.lock_limits_wait:
        return None
    steady = signals.wait_cost_us - _without_queue(signals)
    steady_share, workers = signals.loop_share(steady), signals.workers
    if steady_share is None or steady_share < INPUT_BOUND:
        return None
    if workers is None:
        return Abstention("The DataLoader workers left no records, so whether they were starved is unknown.")
    smoothing = workers.smoothing
    if smoothing is None or smoothing.starved < WORKERS_STARVED or limiting_pace(signals) is not None:
        return None  # a longer queue waits for the slowest worker as well
    if (signals.share(smoothing.excess_us) or 0.0) < INPUT_BOUND:
        return None  # nearly all batches take the same time: there is little to smooth out
    factor = signals.loader.prefetch_factor or 2
    change = Change(prefetch=2 * factor)
    most = min(steady, smoothing.starved * signals.own_window_us, smoothing.excess_us)
    promise = signals.promise(change, signals.per_step(most))
    if promise.without_gain or expects_gain(signals, change) is False:
        return None
    starved = f"starved for {percent(workers.starved)} {workers.of_whole}"
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=steady),
        title=f"DataLoader workers are {starved}, yet batches come late",
        advice="Build times differ from batch to batch, and the queue is too short to smooth that out: let the "
        "workers prefetch more. Each additional batch per DataLoader worker takes memory.",
        evidence=(
            Evidence("settings", f"prefetch_factor={factor}, num_workers={signals.num_workers}"),
            share("workers_starved", workers.starved, workers.whole, starved),
            time("build_p95", smoothing.p95_us, smoothing.text),
            time("steady_wait", steady, _wait_text(signals, steady)),
            *promise.why,
        ),
        gain_us_per_step=promise.us_per_step,
        code=f"DataLoader(..., prefetch_factor={2 * factor})",
        change=change,
        confidence="likely",
        confidence_reason="It helps only where slow batches are followed by fast ones.",
    )


def _without_queue(signals: Signals) -> float:
    """What no queue shortens: work of the training thread, and waits for batches that were finished. A batch is
    received before the next index is drawn, so the two are not the same time.
    """
    here = signals.wait_for_kinds("sampler", "wrapper")
    return (here.cost_us if here else 0.0) + signals.in_steady_state(signals.on_way_us)


def _wait_text(signals: Signals, steady: float) -> str:
    if signals.unsteady is not None:
        return f"about {duration(steady)} of {signals.cost_name} in as many steps of the steady state (estimated)"
    return f"{duration(steady)} of {signals.cost_name}{' of the loop' if signals.apart else ''}"
