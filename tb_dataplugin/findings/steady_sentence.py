"""Whether the window is steady, and what follows for the data wait."""

from __future__ import annotations

from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.units import duration, percent, significant


def steady_sentence(steady: SteadyState, left_out: str = "", starts: int = 0, begun: int = 1) -> str:
    """`left_out`: names what the data wait is without; so many `starts` of the epochs that have `begun` are of that."""
    value = _value(steady)
    if steady.state == "epoch_start":
        if not value:
            return "An epoch starts in the window, so it does not show the steady state."
        several = max(starts, begun) > 1
        head = "Epochs start in the window" if several else "An epoch starts in the window"
        waits = "the waits for their first batches count" if several else "the wait for its first batch counts"
        head += "" if starts else f", and {waits} as any other"
        wait = f"{f'Without {left_out}, data' if left_out else 'Data'} wait is"
        return f"{head}. {wait} {_per_step(steady)}."
    if steady.state == "steady":
        return f"The window is steady: data wait is {value}." if value else "The window is steady."
    does = "empties" if steady.state == "draining" else "fills"
    queue = f"The queue of finished batches {does} in the window ({_change(steady)})"
    measured = f"the measured data wait, {percent(steady.measured_share)} of the step"
    if not value:
        return f"{queue}, so {measured}, is not that of the steady state, which is unknown."
    if steady.is_as_measured:
        return f"{queue}, yet {measured}, is about that of the steady state."
    if steady.share is not None and steady.share.low <= steady.measured_share <= steady.share.high:
        more = "more" if steady.state == "draining" else "less"
        return f"{queue}, so the steady state may have {more} than {measured}: about {value}."
    return f"{queue}, so {measured}, is not that of the steady state: about {value}."


def in_steady_state(steady: SteadyState, share: float, who: str, time: str) -> str:
    """The verdict's, of the `share` of that `time`: how sure it is where it is not, and what the window has."""
    does = "empties" if steady.state == "draining" else "fills"
    window = f"in this window, in which the queue {does}, data wait is {percent(steady.measured_share)} of the step"
    known, ends = steady.share, ""
    if known is not None and known.low <= known.value / 2:
        ends = f"95% interval {percent(known.low)} to {percent(known.high)}; "
    return f"in the steady state {who} waits for data for about {percent(share)} of {time} ({ends}{window})"


def may_be_more(steady: SteadyState, than: float) -> bool:
    """Whether the steady state's data wait, where it is estimated, may as well be more than that share of the step."""
    return steady.share is not None and steady.share.high >= than


def _change(steady: SteadyState) -> str:
    if steady.fed:
        return f"at least {steady.ready_first:.0f} at its start, {steady.ready_last:.0f} at its end"
    return (
        f"on average {significant(steady.ready_first)} in its first third, {significant(steady.ready_last)} in its last"
    )


def _per_step(steady: SteadyState) -> str:
    """Its share of the rest of the window is said by the verdict."""
    assert steady.wait is not None
    value, low, high = (duration(ns / 1e3) for ns in (steady.wait.value, steady.wait.low, steady.wait.high))
    return f"{value} per step (95% interval {low} to {high})"


def _value(steady: SteadyState) -> str:
    wait, share = steady.wait, steady.share
    if wait is None or share is None:
        return ""
    interval = f"95% interval {percent(share.low)} to {percent(share.high)}"
    return f"{percent(share.value)} of the step ({interval}), {duration(wait.value / 1e3)} per step"
