"""Steps that wait at regular distances, or one that waits by far the longest, in words."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tb_dataplugin.analyses.sawtooth import Late, LoneWait, Sawtooth
from tb_dataplugin.findings.worker_signals import PaceSignals
from tb_dataplugin.units import count, duration, percent, plural

ADVICE: Final = "See what happens once in so many batches, such as another file being read."

SHOWN: Final = 5
"""Steps that are named."""


def rhythm_sentence(found: Sawtooth, left_out: str, pace: PaceSignals | None = None) -> str:
    """`left_out`: names what of the data wait is told apart. `pace`: of the workers of the training loop."""
    whole = _whole(found, left_out)
    if found.of_workers:
        return f"1 step in {found.period} has {percent(found.share)} of {whole}{_why(found, pace)}."
    steps = f"{_few_steps(found, whole)}: {_numbers(found)}"
    return f"{steps}{_slow(found)}." if found.slow else f"{steps}. {ADVICE}"


def _why(found: Sawtooth, pace: PaceSignals | None) -> str:
    if pace is not None and pace.is_uneven:
        return f": {pace.text}" if found.worker in pace.slow else ""
    together = f"the {plural(found.period, 'DataLoader worker')} finish their batches at about the same time"
    if found.together is None:
        return f", as where {together}"
    if found.together:
        return f": {together}"
    return "" if found.late is None else f"{_last(found, found.late)}{_turns(found)}"


def _last(found: Sawtooth, late: Late) -> str:
    rounds = f"in {count(late.count)} of {plural(late.rounds, 'round')} (one batch of each DataLoader worker)"
    others = "the other one" if found.period == 2 else "the last of the others"
    last = f"that of worker {found.worker} is finished last"
    return f": {rounds} {last}, a median of {duration(late.by_ns / 1e3)} after {others}"


def _turns(found: Sawtooth) -> str:
    """Why, where that is known."""
    turns = found.turns
    if turns is None:
        return ""
    slow, others = duration(turns.slow_ns / 1e3), duration(turns.others_ns / 1e3)
    which = f". In each {_ordinal(turns.period)} batch {turns.stage} has a self time of {slow}, in others of {others}"
    multiple = f"{turns.period} is a multiple of the number of DataLoader workers"
    return f"{which}: {multiple}, so worker {found.worker} builds all of these"


def rhythm_clause(found: Sawtooth, left_out: str) -> str:
    """Of steps at regular distances, for the verdict."""
    return f"{_few_steps(found, _whole(found, left_out))}{_slow(found)}."


def lone_clause(found: LoneWait, left_out: str) -> str:
    """Of one step with much of the data wait, for the verdict."""
    alone = f"Step {found.step} alone has {percent(found.share)} of {_whole(found, left_out)}"
    if found.collected_ns:
        alone += f", for a batch of which Python's garbage collector took {duration(found.collected_ns / 1e3)}"
    return f"{alone}: choose other steps to see them without it."


def _whole(found: Sawtooth | LoneWait, left_out: str) -> str:
    return f"the data wait without {left_out}" if found.is_partial and left_out else "the data wait"


def _few_steps(found: Sawtooth, whole: str) -> str:
    steps = f"{count(len(found.steps))} of {plural(found.count, 'step')}"
    if found.slow:
        return f"{steps} have {percent(found.share)} of {whole}"
    gaps = {later - step for step, later in pairwise(found.steps)}
    about = "" if len(gaps) == 1 else "about "
    return f"{steps}, {about}each {_ordinal(found.period)}, have {percent(found.share)} of {whole}"


def _slow(found: Sawtooth) -> str:
    if not found.slow:
        return ""
    more = ", ..." if len(found.slow) > SHOWN else ""
    return f", each with a slow sample in its batch (index {', '.join(map(str, found.slow[:SHOWN]))}{more})"


def _numbers(found: Sawtooth) -> str:
    numbers = ", ".join(str(step) for step in found.steps[:SHOWN])
    more = ", ..." if len(found.steps) > SHOWN else ""
    return f"steps {numbers}{more}"


def _ordinal(number: int) -> str:
    """``2nd``, ``11th``, ``23rd``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
