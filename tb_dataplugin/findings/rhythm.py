"""Steps that wait at regular distances, or one that waits by far the longest, in words."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from tb_dataplugin.analyses.sawtooth import LoneWait, Sawtooth
from tb_dataplugin.units import count, percent, plural

ADVICE: Final = "See what happens once in so many batches, such as another file being read."

SHOWN: Final = 5
"""Steps that are named."""


def rhythm_sentence(found: Sawtooth) -> str:
    whole = _whole(found)
    if found.of_workers:
        return (
            f"1 step in {found.period} has {percent(found.share)} of {whole}: the "
            f"{plural(found.period, 'DataLoader worker')} finish their batches at about the same time."
        )
    return f"{_few_steps(found, whole)}: {_numbers(found)}. {ADVICE}"


def rhythm_clause(found: Sawtooth) -> str:
    """Of steps at regular distances, for the verdict."""
    return f"{_few_steps(found, 'the data wait')}."


def lone_clause(found: LoneWait) -> str:
    """Of one step with much of the data wait, for the verdict."""
    alone = f"Step {found.step} alone has {percent(found.share)} of {_whole(found)}"
    return f"{alone}: choose other steps to see them without it."


def _whole(found: Sawtooth | LoneWait) -> str:
    return "the data wait, first batches of epochs left out" if found.without_starts else "the data wait"


def _few_steps(found: Sawtooth, whole: str) -> str:
    steps = f"{count(len(found.steps))} of {plural(found.count, 'step')}"
    gaps = {later - step for step, later in pairwise(found.steps)}
    about = "" if len(gaps) == 1 else "about "
    return f"{steps}, {about}each {_ordinal(found.period)}, have {percent(found.share)} of {whole}"


def _numbers(found: Sawtooth) -> str:
    numbers = ", ".join(str(step) for step in found.steps[:SHOWN])
    more = ", ..." if len(found.steps) > SHOWN else ""
    return f"steps {numbers}{more}"


def _ordinal(number: int) -> str:
    """``2nd``, ``11th``, ``23rd``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
