"""Whose waits a run's are: a program may take its batches ahead, in a thread that hands them to the one that trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from tb_dataplugin.units import percent
from tb_dataplugin.watchfile.lines import LoaderNumbers

Whose = Literal["own", "fed", "elsewhere"]
"""As in annotate's `takers`: the batches are taken by the thread that trains on them, or the main one; by another than
the one that trains; by another than the main one, and which one trains is not known.
"""

FED: Final = "another thread than the one that trains takes the batches"
DATA_WAIT: Final = "data wait"
FED_WAIT: Final = "wait of the thread that takes the batches"
"""In place of the data wait, which nobody knows then."""


def whose_of(numbers: Iterable[LoaderNumbers]) -> Whose:
    """By most batches. Runs of earlier versions do not say, and count as `own`."""
    known = list(numbers)
    own, fed = sum(each.own for each in known), sum(each.fed for each in known)
    if fed > own:
        return "fed"
    elsewhere = sum(each.elsewhere for each in known)
    batches = sum(each.steps + each.unused_steps + each.joined + each.epochs for each in known)
    return "elsewhere" if not own and 2 * elsewhere > batches else "own"


def wait_name(whose: Whose) -> str:
    """What a wait for a batch is called."""
    return FED_WAIT if whose == "fed" else DATA_WAIT


def wait_clause(whose: Whose, share: float) -> str:
    """``82.0% of the step time is data wait``; `share`: what the thread that takes the batches waited."""
    if whose == "fed":
        return f"the data wait is unknown, since {FED} ({_of_taker(share)})"
    if whose == "elsewhere":
        return f"{percent(share)} of the step time is data wait of a thread that is not the main one{_UNSEEN}"
    return f"{percent(share)} of the step time is data wait"


def wait_note(whose: Whose, share: float) -> str:
    """What stands beside the number, or beside that it is unknown."""
    if whose == "fed":
        return f"{FED}; {_of_taker(share)}"
    if whose == "elsewhere":
        return f"of the step time of a thread that is not the main one{_UNSEEN}"
    return "of the step time"


_UNSEEN: Final = ", and which thread trains was not seen"


def _of_taker(share: float) -> str:
    return f"that thread waits for them {percent(share)} of its time from batch to batch"
