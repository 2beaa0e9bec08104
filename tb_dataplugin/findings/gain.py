"""What a change may save: one upper bound, in every form that is shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.findings.apart_signals import left_out
from tb_dataplugin.findings.epoch_length import recurring_starts, start_us_per_step
from tb_dataplugin.findings.foresight import LoopStep
from tb_dataplugin.findings.saving import most_saved_us
from tb_dataplugin.findings.signals import SAME_STEP, Signals
from tb_dataplugin.findings.thresholds import NO_CPU
from tb_dataplugin.units import duration, percent, ratio

NOTHING_LEFT: Final = 0.999
"""Share of a step from which a speed-up would be without bound."""

WORTH_A_WORD: Final = 1.05
"""Speed-up below which it is not mentioned: it is less than runs differ by."""

SAME: Final = 0.01
"""Part of a bound below which its interval is not mentioned."""

UNKNOWN: Final = "gain unknown"
UNKNOWN_IN_REPLAY: Final = "gain unknown: a replay has no training loop that could become faster"


@dataclass(frozen=True, slots=True)
class Gain:
    """None: not known. Shares are of the step in the long run (`_long_step`) and of the window; `speedup` is how many
    times as fast (Amdahl) with what the loop waits for other DataLoaders.

    `high_us_per_step`: the upper end of the bound's 95% interval, where it is about data wait of which one is known,
    and ends below the whole step. It is no more than all of the window's data wait, and what the step itself may get.
    What the bound has of the starts of epochs is as measured in it.
    """

    us_per_step: float | None
    high_us_per_step: float | None
    step_share: float | None
    speedup: float | None
    window_us: float | None
    window_share: float | None
    text: str
    of_step: str = ""
    """ "36.7% of a step of 131 ms"; "" without a share."""
    of_wait: bool = False
    """What it saves is data wait of steps."""
    long_step: str = ""
    """That step, with how it differs from the mean step of the window; "" where it is that."""


NO_GAIN: Final = Gain(None, None, None, None, None, None, "nothing to gain")
"""Of a finding that says what would not help, or that something else allows nothing."""


def gain_of(
    us_per_step: float | None,
    signals: Signals,
    *,
    of_wait: bool = False,
    of_epochs: bool = False,
    of_others: bool = False,
    at_starts_us: float = 0.0,
    others_too: bool = False,
    loop_step: LoopStep | None = None,
) -> Gain:
    """`of_wait`: what is saved is data wait, so that the bound is as uncertain as the window's mean data wait, but for
    the part of it, per step, `at_starts_us` of epochs.
    `of_epochs`: it is a bound of epochs' starts alone: what workers that live on keep in memory may save any time
    besides. `of_others`: of what other DataLoaders do, as the window's mean step has it. `others_too`: these get
    faster by the same change, which is not in the bound. `loop_step`: of a setting, which step the bound is of, where
    that is not the mean one.
    """
    if us_per_step is None:
        return Gain(None, None, None, None, None, None, UNKNOWN_IN_REPLAY if signals.mode == "replay" else UNKNOWN)
    if us_per_step <= 0:
        return NO_GAIN
    step_us = signals.step_us
    step_us = signals.window_us / signals.step_count if of_others and signals.step_count else step_us
    more = _more_us(signals, us_per_step - at_starts_us, step_us) if of_wait else 0.0
    high = us_per_step + more if more > us_per_step * SAME else None
    starts = recurring_starts(signals) if of_wait and not at_starts_us else None
    without = f", without {starts.names}" if starts is not None else ""
    bound = f"{duration(us_per_step)} per step{_of_epochs(signals) if of_epochs else without}"
    if not signals.step_count or not step_us:
        return Gain(us_per_step, high, None, None, None, None, f"saves up to {bound}", of_wait=of_wait)
    has_start = not of_others and (of_epochs or recurring_starts(signals) is not None)
    start_us = start_us_per_step(signals) if has_start else 0.0
    long_us, name = _long_step(signals, step_us + start_us, us_per_step, start_us, of_others=of_others)
    if loop_step is not None:
        long_us, name = loop_step.us, f"a step of {duration(loop_step.us)}, without {loop_step.without}"
    step_share = us_per_step / long_us
    others_us = 0.0 if of_others or not signals.apart else signals.apart.recurring_us / signals.step_count
    all_of_it = us_per_step / (long_us + others_us)
    speedup = 1 / (1 - all_of_it) if all_of_it < NOTHING_LEFT else None
    whole = us_per_step * signals.step_count
    long_step = "" if _is_mean_step(signals, long_us) else name
    faster = f", {ratio(speedup)} as fast" if speedup is not None and speedup >= WORTH_A_WORD else ""
    stays = ", if that takes as long as now" if others_too or _gives_cpus(signals) else ""
    with_others = f"; {percent(all_of_it)} of {duration(long_us + others_us)} with the other DataLoader{stays}"
    with_others = with_others if long_step and others_us >= SAME * long_us else ""
    text = f"saves up to {bound} ({percent(step_share)} of {long_step or 'it'}{with_others}{faster})"
    of_step = f"{percent(step_share)} of {name}{with_others}"
    long_window_us = signals.loop_us + start_us * signals.step_count
    share = whole / long_window_us if long_window_us else None
    return Gain(us_per_step, high, step_share, speedup, whole, share, text, of_step, of_wait, long_step)


def _gives_cpus(signals: Signals) -> bool:
    """The loop's DataLoader workers wait for CPUs: with less to build, another DataLoader gets quicker, too."""
    delay = signals.costs.run_delay if signals.costs and signals.num_workers else None
    return (delay or 0.0) >= NO_CPU


def _more_us(signals: Signals, loop_us: float, step_us: float | None) -> float:
    """By how much a bound of `loop_us` per step of the loop may be too low."""
    most = (signals.per_step(most_saved_us(signals)) or loop_us) - loop_us
    more = min(loop_us * signals.wait_may_exceed, most)
    return 0.0 if step_us and loop_us + more >= step_us else more  # all of the step may go: that is no interval


def _long_step(
    signals: Signals, long_us: float, us_per_step: float, start_us: float, *, of_others: bool
) -> tuple[float, str]:
    """The step that a gain is a share of, and its name, which says how it differs from the window's mean step. Where
    starts of epochs come again and again all gains are shares of one, with `start_us` in it; of a start by chance only
    what shortens that.
    """
    mean_us = _shown_mean_us(signals)
    # With the little that lies between steps it would be another in the last digit.
    if _is_mean_step(signals, long_us) and mean_us and us_per_step <= mean_us:
        return mean_us, f"a step of {duration(mean_us)}"
    name = f"a step of {duration(long_us)}"
    apart = None if of_others else signals.apart
    starts, names = apart.starts if apart else None, left_out(apart)
    if start_us and starts is not None:
        others = left_out(replace(apart, starts=None) if apart else None)
        part = f"its part of an epoch's start{' and end' if starts.ends else ''} included"
        return long_us, f"{name}, {part}{f', without {others}' if others else ''}"
    return long_us, f"{name}, without {names}" if names else name


def _of_epochs(signals: Signals) -> str:
    starts = signals.apart.starts if signals.apart else None
    of = " of epoch starts and ends" if starts is not None and starts.ends else " of epoch starts"
    return f"{of}, without iter(loader)" if starts is not None and starts.lacks_iter else of


def _shown_mean_us(signals: Signals) -> float | None:
    """The mean step as it stands beside the gains."""
    if signals.mean_step_us is None or not signals.step_count or not signals.apart:
        return signals.mean_step_us
    return signals.mean_step_us + signals.apart.time_us / signals.step_count


def _is_mean_step(signals: Signals, step_us: float) -> bool:
    mean_us = signals.window_us / (signals.step_count or 1)
    return abs(step_us - mean_us) <= SAME_STEP * mean_us
