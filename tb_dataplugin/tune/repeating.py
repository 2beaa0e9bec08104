"""DataLoader workers that each read all of an iterable dataset: steps get shorter, an epoch has every item again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_dataplugin.tune.running import Facts, Window
from tb_dataplugin.tune.setting import WORKERS, Changes, in_effect, number_of

LONGER: Final = 1.5
"""Times as many batches of a pass, from which it has items twice; a last, smaller batch of each worker aside."""


def repeats(changes: Changes, facts: Facts) -> bool:
    """Whether more DataLoader workers would bring the same items again, as far as the dataset's code shows."""
    workers = number_of(in_effect(changes, facts.made), WORKERS)
    return bool(facts.undivided) and workers > max(1, number_of(facts.made, WORKERS))


def why_not_tried(facts: Facts) -> str:
    """A sentence; "" where more DataLoader workers may be tried."""
    if not facts.undivided:
        return ""
    now = number_of(facts.made, WORKERS)
    who, would = (
        ("More DataLoader workers were", "reads") if now > 1 else ("Several DataLoader workers were", "would read")
    )
    return (
        f"{who} not tried: nothing in the code of {facts.undivided} divides the data (get_worker_info() in __iter__), "
        f"so each {would} all of it, and an epoch {'has' if now > 1 else 'would have'} every item once per worker. "
        "Divide it first, then tune."
    )


def not_seen(facts: Facts, best: Changes, windows: Sequence[Window]) -> str:
    """A sentence where more DataLoader workers were kept, and no window shows whether items come once; else ""."""
    more = number_of(in_effect(best, facts.made), WORKERS) > max(1, number_of(facts.made, WORKERS))
    if not facts.iterable or not more or any(window.passed for window in windows):
        return ""
    return (
        "The dataset is iterable, and no pass over it ended in the windows, so whether each item still comes once was "
        "not seen: check that an epoch has as many samples as before."
    )


def seen_to_repeat(before: Sequence[Window], after: Sequence[Window], more: int) -> str:
    """Why windows with so many `more` DataLoader workers show no gain: they delivered the same again; else ""."""
    if any(window.same for window in after):
        return "its DataLoader workers deliver the same batches, so that an epoch has every item once per worker"
    usual, now = (max((window.passed for window in side), default=0) for side in (before, after))
    if usual and now > LONGER * usual + more:
        return f"a pass has {now} batches, not {usual}: its DataLoader workers deliver the same items again"
    return ""
