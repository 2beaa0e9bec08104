"""How many DataLoader workers are predicted to be enough: findings advise what `whatif` shows beside them.

Not the more the better: batches go to workers in turn, so where every fourth is slow, four workers leave all slow ones
to the same, and three do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import Final

from tb_dataplugin.errors import BadRequest
from tb_dataplugin.whatif.change import MOST_WORKERS, Change
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.more_workers import none_free
from tb_dataplugin.whatif.prediction import likely_us
from tb_dataplugin.whatif.usual import more_workers

ALIKE: Final = 0.05
"""Predictions within this are alike; fewer DataLoader workers come first."""


def best_workers(loop: Loop, wanted: int, most: int) -> int:
    """From one more than now to `most`: `wanted`, unless fewer are predicted to be as fast, or another number clearly
    faster. Then the fewest with which a step is about as short as with any number that `whatif` shows by itself, with
    `wanted` and with one more. Also `wanted` where nothing can be predicted: no CPU is free for so many.
    """
    steps = _steps_us(loop, {*more_workers(loop), wanted, wanted + 1}, most)
    if wanted not in steps:
        return wanted
    alike_us = (1 + ALIKE) * min(steps.values())
    fewer_us = [us for number, us in steps.items() if number < wanted]
    if steps[wanted] <= alike_us and steps[wanted] < min(fewer_us, default=inf):
        return wanted
    return min(number for number, us in steps.items() if us <= alike_us)


def faster_workers(loop: Loop) -> int | None:
    """More DataLoader workers than now with which a step is predicted to be clearly shorter: the fewest with which it
    is about as short as with any number that `whatif` shows by itself. None where none makes it so, or nothing can be
    predicted.
    """
    shorter_us = (1 - ALIKE) * loop.measured_step_ns / 1e3
    steps = {number: us for number, us in _steps_us(loop, more_workers(loop), MOST_WORKERS).items() if us < shorter_us}
    alike_us = (1 + ALIKE) * min(steps.values(), default=0.0)
    return min((number for number, us in steps.items() if us <= alike_us), default=None)


def _steps_us(loop: Loop, numbers: Iterable[int], most: int) -> dict[int, float]:
    """Of those for which there is a CPU."""
    within = [number for number in numbers if loop.settings.workers < number <= min(most, MOST_WORKERS)]
    with suppress(BadRequest):
        return {number: likely_us(loop, Change(workers=number)) for number in within if not none_free(number, loop)}
    return {}
