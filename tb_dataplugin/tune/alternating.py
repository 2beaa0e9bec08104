"""Windows of two loops by turns, until they decide which is faster."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tb_dataplugin.tune.pairs import LOOKS, Ratio, is_decided, ratio_of
from tb_dataplugin.tune.running import Loop, Window


@dataclass(frozen=True, slots=True)
class Beside:
    """Windows of a loop, and of the changed one, pair by pair; and what they say of the change."""

    before: tuple[Window, ...]
    after: tuple[Window, ...]
    ratio: Ratio


def measure_beside(
    loop: Loop,
    changed: Loop,
    *,
    most: int,
    in_process: bool,
    window: Callable[[Loop], Window],
    is_late: Callable[[], bool],
    say: Callable[[int], None],
) -> Beside:
    """At least three pairs (or `most`), unless a window fails. Raises CannotRun.

    Args:
        most: pairs at most.
        in_process: one of the loops has no DataLoader workers.
        window: times one window of a loop.
        is_late: no further pair is to begin.
        say: is given the number of a pair that begins, at the first and after each look.
    """
    before: list[Window] = []
    after: list[Window] = []
    looks = [look for look in LOOKS if look <= most] or [most]
    for number in range(looks[-1]):
        if number in (0, *looks):
            say(number)
        for side, windows in ((loop, before), (changed, after))[:: 1 if number % 2 else -1]:
            windows.append(window(side))
        count = number + 1
        if count >= looks[0] and (is_late() or (count in looks and is_decided(_ratio(before, after, in_process)))):
            break
    return Beside(tuple(before), tuple(after), _ratio(before, after, in_process))


def _ratio(before: Sequence[Window], after: Sequence[Window], in_process: bool) -> Ratio:
    return ratio_of([math.log(new.step_s / old.step_s) for old, new in zip(before, after, strict=True)], in_process)
