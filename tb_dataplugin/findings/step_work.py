"""What the training step is spent on besides waiting for data: for the verdict and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tb_dataplugin.analyses.hot_lines import LEAST_SAMPLES
from tb_dataplugin.analyses.line_rows import Estimate
from tb_dataplugin.findings.line_signals import AroundSignal, StepLineSignal, interval
from tb_dataplugin.findings.lock import feeding_line
from tb_dataplugin.findings.reasons import Bound
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.started_signals import StartedSignals
from tb_dataplugin.findings.thresholds import FEWEST_SAMPLES, HEALTHY, HOT_LINE, INPUT_BOUND, MODELS_WORK
from tb_dataplugin.units import duration, percent, plural

SHOWN: Final = 3
"""Slow lines that a finding names."""


def around_loader(signals: Signals) -> AroundSignal | None:
    """The code around the DataLoader that takes most, where that is worth a change and no chance."""
    step = signals.step
    if step is None or step.samples < FEWEST_SAMPLES:
        return None
    return next((each for each in step.around if each.part.low >= INPUT_BOUND), None)


def slow_lines(signals: Signals) -> tuple[StepLineSignal, ...]:
    """Lines of the step that are not the model's work and worth a change, the most expensive first. What happens once
    is not: a first call loads and compiles, and the other steps have none of it. Neither is what mostly waits for
    Python's lock, unless it gives the thread its work that holds it.
    """
    step = signals.step
    if step is None or step.samples < FEWEST_SAMPLES:
        return ()
    told = ("iterators",) if signals.restarts or _is_of_passes(signals) else ()
    lines = [line for line in step.lines if not line.is_one_off and line.work not in told]
    if not signals.has_device:
        fed = feeding_line(signals)
        costly = [line for line in lines if line.own.low >= INPUT_BOUND and (line is fed or not _mostly_waits(line))]
        return tuple(sorted(costly, key=lambda line: -line_cost_us(signals, line)))
    idle = signals.share(signals.idle.total_us) or 0.0
    return tuple(line for line in lines if (line.idle_share or 0.0) * idle >= INPUT_BOUND)


def costly_passes(signals: Signals) -> StartedSignals | None:
    """Of other loaders whose workers start anew for each pass, the one that costs most, if that is worth a change."""
    started = max(signals.started_again, key=lambda each: each.us, default=None)
    return started if started is not None and (signals.share(started.us) or 0.0) >= HEALTHY else None


def _is_of_passes(signals: Signals) -> bool:
    """Whether what lines take that make and drop iterators is in the gain of `costly_passes`."""
    started = costly_passes(signals)
    return started is not None and started.making_us > 0


def _mostly_waits(line: StepLineSignal) -> bool:
    return line.part.share > 2 * line.own.share


def line_with_lock(signals: Signals) -> StepLineSignal | None:
    """The slow lines that cause the waiting for Python's lock, so that both are one finding."""
    fed = None if signals.has_device else feeding_line(signals)
    return fed if fed is not None and fed in slow_lines(signals)[:SHOWN] else None


def line_cost_us(signals: Signals, line: StepLineSignal) -> float:
    """What lines cost, at most: their time, and all waiting for Python's lock where they cause it."""
    if signals.lock is not None and line is feeding_line(signals):
        return line.own.share * signals.window_us + signals.lock.total_us
    return line.part.share * signals.window_us


def outside_wait(signals: Signals) -> str:
    """What shares of the step are without; "" where the data wait is not known: it may be in them."""
    return "" if signals.data_wait_us is None else ", outside the data wait"


def with_lock(signals: Signals, line: StepLineSignal) -> str:
    """Behind the share of these lines, where their cost has the waiting for the lock."""
    return ", with the waiting for Python's lock (GIL) that it causes" if line is feeding_line(signals) else ""


def waits_for_ranks(signals: Signals) -> Estimate | None:
    """In collectives, outside the data wait; None where that is not known to be worth a word."""
    step, ranks = signals.step, signals.ranks
    if ranks is None or step is None or step.ranks is None or step.samples < FEWEST_SAMPLES:
        return None
    known = step.ranks
    most = min(1 - (signals.share(signals.data_wait_us) or 0.0), ranks.in_collectives or 0.0)
    known = replace(known, share=min(known.share, most), low=min(known.low, most), high=min(known.high, most))
    return known if known.low >= INPUT_BOUND else None


def _may_wait_for_ranks(signals: Signals) -> bool:
    """Whether work and waiting in a collective look the same: stacks were sampled that have no states of threads."""
    seen = signals.step is not None and signals.step.ranks is not None
    return not seen and signals.ranks is not None and (signals.ranks.in_collectives or 0.0) >= INPUT_BOUND


def in_step(signals: Signals, part: Estimate) -> Estimate:
    """A part of the window as one of the step that gains are shares of, so that each has one number."""
    factor = signals.of_step(signals.window_us) or 1.0
    share, low, high = (min(1.0, each * factor) for each in (part.share, part.low, part.high))
    return replace(part, share=share, low=low, high=high)


def of_step(signals: Signals, share: float) -> str:
    """That share of the window, said as `in_step` has it."""
    steady = " of the steady state" if signals.unsteady is not None else ""
    return f"{percent(min(1.0, share * (signals.of_step(signals.window_us) or 1.0)))} of the step{steady}"


def around_sentence(signals: Signals, around: AroundSignal, cost: float) -> str:
    """The verdict's, where code around the DataLoader takes more than waiting for it."""
    part = f"{percent(around.part.share)} of the window ({interval(around.part)}, by stack samples)"
    if signals.has_device:
        who = f"The device is idle for {part} while the training thread is in {around.words}"
        return f"{who}{signals.idle.in_brackets}; it waits for data for {percent(cost)}."
    return f"For {part} the training thread is in {around.words}; it waits for data for {percent(cost)}."


def step_sentence(signals: Signals) -> str:
    """Where the time goes that is no data wait, with a space before it; "" where there is nothing to say. Where
    states of threads are unknown, the model's own work is not told from waiting for other ranks in it.
    """
    ranks = signals.ranks.sentence if signals.ranks and not signals.has_device and _may_wait_for_ranks(signals) else ""
    return ranks or next(_sentences(signals), "")


def _sentences(signals: Signals) -> Iterator[str]:
    for line in slow_lines(signals)[:1]:
        if not signals.has_device:
            cost, more = line_cost_us(signals, line), with_lock(signals, line)
            part = more or f" ({interval(in_step(signals, line.part))})"
            yield f" {of_step(signals, cost / signals.window_us)} goes to {line.text}{part}{_freeing(line)}."
        elif line.idle_share is not None and line.idle_share >= HOT_LINE:
            by = f", by {plural(line.part.samples, 'stack sample')}," if line.part.samples < LEAST_SAMPLES else ""
            yield f" {percent(line.idle_share)} of the idle time{by} goes to {line.text}{_freeing(line)}."
    step = signals.step
    if signals.has_device:
        return
    if step and step.samples >= FEWEST_SAMPLES and step.compute.low >= MODELS_WORK:
        wait = (signals.data_wait_us or 0.0) + (signals.apart.wait_us if signals.apart else 0.0)
        own = 1 - (signals.share(wait) or 0.0)  # samples may say a little more than there is
        share = percent(min(step.compute.share, own))
        work = f" The model's own work (forward, backward, optimizer) takes {share} of the window, by stack samples"
        yield f"{work}{_without_cpu(signals)}."


def own_time_sentence(signals: Signals, bound: Bound) -> str:
    """What the step spends on itself, where that is what bounds the run; and the one step that takes most of it, there
    or where it costs more than the data wait that the verdict is about.
    """
    if bound == "host":
        return step_sentence(signals) + lone_work_sentence(signals)
    lone = signals.lone_work
    leads = lone is not None and lone.more_ns > (signals.data_wait_us or 0.0) * 1e3
    return lone_work_sentence(signals) if leads else ""


def lone_work_sentence(signals: Signals) -> str:
    """With a space before it; "" where no step's own work stands out, or the device's idle time is what counts."""
    found = signals.lone_work
    if found is None or signals.has_device or found.more_ns < INPUT_BOUND * signals.loop_us * 1e3:
        return ""
    lines = [line for line in signals.step.lines if line.is_one_off] if signals.step else []
    most = max(lines, key=lambda line: line.part.share, default=None)
    is_it = most is not None and 2 * most.part.share * signals.window_us * 1e3 >= found.more_ns
    where = f", most of it at {most.text}" if most is not None and is_it else ""
    whole = "the time outside the data wait" if signals.apart is None else "the loop's time outside the data wait"
    alone = f" Step {found.step} alone has {percent(found.share)} of {whole}, {duration(found.more_ns / 1e3)} more than"
    return f"{alone} another on average{where}: choose other steps to see them without it."


def _freeing(line: StepLineSignal) -> str:
    """What a line that takes batches does besides; it is no data wait."""
    return ", where Python frees the batch before" if line.work == "freeing" else ""


def _without_cpu(signals: Signals) -> str:
    """That much of the model's work is waiting, where it is."""
    taken = signals.taken
    if taken is None or taken.delayed < INPUT_BOUND:
        return ""
    return f"; for {percent(taken.delayed)} of the time outside the data wait its thread only waited for a CPU"
