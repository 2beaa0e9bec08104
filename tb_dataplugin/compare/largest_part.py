"""What of a difference is data wait, where that is most of it: both parts of the training thread's time add up to all
of it, however uncertain each is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tb_dataplugin.compare.changes import difference_us
from tb_dataplugin.compare.quantity import Quantity
from tb_dataplugin.units import duration

MOST: Final = 0.5
"""Part of the difference from which it is most of it."""


class MostlyWait(NamedTuple):
    """`text`: "1.20 ms of the 1.64 ms less is data wait". `is_all`: nothing is left for the rest of the step."""

    text: str
    is_all: bool


def mostly_data_wait(parts: Sequence[Quantity], total: Quantity) -> MostlyWait | None:
    """None where it isn't. Whether it is certain to have changed is said, if it is not."""
    wait = next((part for part in parts if part.name == "data_wait"), None)
    whole, moved = difference_us(total), difference_us(wait) if wait else None
    if wait is None or whole is None or moved is None or moved * whole <= 0 or abs(moved) < MOST * abs(whole):
        return None
    sure = "" if wait.significant else ", by itself not significant"
    how = "more" if whole > 0 else "less"
    if abs(moved) >= abs(whole):
        return MostlyWait(f"the data wait takes {duration(abs(moved))} {how}{sure}", is_all=True)
    return MostlyWait(f"{duration(abs(moved))} of the {duration(abs(whole))} {how} is data wait{sure}", is_all=False)
