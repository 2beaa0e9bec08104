"""What is said of steps that go through many batches where others take one."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.inner_loops import InnerLoops
from tb_dataplugin.units import count, listed, percent, plural

SHOWN: Final = 5
"""Steps that are named."""

WHAT: Final = "an evaluation, or another loop whose batches are no steps"


def inner_loops_clause(found: InnerLoops, left_out: str) -> str:
    """For the verdict."""
    whole = f"the data wait without {left_out}" if found.is_partial and left_out else "the data wait"
    alone = f"Step {found.steps[0]} alone has" if len(found.steps) == 1 else f"{_steps(found)} have"
    one = "it" if len(found.steps) == 1 else "they"
    why = f"{one} {_asked(found)} ({WHAT})"
    return f"{alone} {percent(found.share)} of {whole}: {why}. Choose other steps to see them without it."


def inner_loops_note(found: InnerLoops) -> str:
    """What the numbers have of it."""
    its = "that step" if len(found.steps) == 1 else "these steps"
    numbers = "Means per step, the data wait, samples per second and a steady state"
    return f"{_steps(found)} {_asked(found)}: {WHAT}. {numbers} include {its}"


def inner_loops_name(found: InnerLoops) -> str:
    """``step 13, which asked for a batch 28 times, other steps mostly once``."""
    steps = _steps(found)
    return f"{steps[0].lower()}{steps[1:]}, which {_asked(found)}"


def _steps(found: InnerLoops) -> str:
    names = [str(step) for step in found.steps]
    if len(names) == 1:
        return f"Step {names[0]}"
    if len(names) <= SHOWN:
        return f"Steps {listed(names)}"
    return f"{plural(len(names), 'step')} ({', '.join(names[:SHOWN])}, ...)"


def _asked(found: InnerLoops) -> str:
    """``asked for a batch 28 times, other steps mostly once``."""
    least, most = min(found.asked), max(found.asked)
    times = f"{count(least)} times" if least == most else f"{count(least)} to {count(most)} times"
    each = " each" if len(found.steps) > 1 else ""
    usual = "once" if found.usual == 1 else f"{count(found.usual)} times"
    return f"asked for a batch {times}{each}, other steps mostly {usual}"
