"""Changes that are worth a prediction where nobody asks for one."""

from __future__ import annotations

from math import inf
from typing import Final

from tb_dataplugin.whatif.change import MOST_PREFETCH, MOST_WORKERS, Change
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.more_workers import finds_cpus, none_free

TOLD_WORKERS: Final = 8
"""DataLoader workers that `telling_changes` goes up to, where the loop has no more."""

MOST_STAGES: Final = 4
"""Stages that are shown where no change is asked for."""


def usual_changes(loop: Loop) -> list[Change]:
    """Other numbers of DataLoader workers, what findings advise, and the stages that take most of the time, each in
    half of it.
    """
    numbers = _other_workers(loop, _usual_numbers(loop))
    spent: dict[str, float] = {}
    for timed in (loop.build, loop.receive):
        for part, mean in zip(timed.parts, timed.ns.mean(axis=0).tolist(), strict=True):
            if part:
                spent[part[-1].name] = spent.get(part[-1].name, 0.0) + mean
    longest = sorted(spent, key=spent.__getitem__, reverse=True)[:MOST_STAGES]
    stages = (Change(stages=((name, 0.5),)) for name in longest)
    return [*_with_advised(loop, [Change(workers=number) for number in numbers]), *stages]


def telling_changes(loop: Loop) -> list[Change]:
    """For where nobody can ask: up to eight DataLoader workers, or of more the quarters up to twice as many; other
    queues; and the longest stages in half of their time and in none."""
    now = loop.settings
    numbers = _other_workers(loop, _telling_numbers(loop))
    queues = [queue for queue in (1, 2, 4, 8) if now.workers and queue != now.prefetch]
    settings = [*(Change(workers=number) for number in numbers), *(Change(prefetch=queue) for queue in queues)]
    stages = [change.stages[0][0] for change in usual_changes(loop) if change.stages]
    factors = (0.5, 0.0)
    return [
        *_with_advised(loop, settings),
        *(Change(stages=((name, factor),)) for name in stages for factor in factors),
    ]


def more_workers(loop: Loop) -> list[int]:
    """More DataLoader workers than now, of which either of these has a prediction, in ascending order; where no CPU is
    free for them, none.
    """
    numbers = _other_workers(loop, _usual_numbers(loop) | _telling_numbers(loop))
    return [number for number in numbers if number > loop.settings.workers and not none_free(number, loop)]


def _usual_numbers(loop: Loop) -> set[int]:
    cpus = 2 if loop.cpus == inf else max(1, round(loop.cpus))
    return {0, 1, cpus, 2 * cpus, loop.settings.workers + 1}


def _telling_numbers(loop: Loop) -> set[int]:
    now = loop.settings.workers
    if now <= TOLD_WORKERS:
        return set(range(TOLD_WORKERS + 1))
    return {now - 1, now + 1, *(now * quarter // 4 for quarter in range(TOLD_WORKERS + 1))}


def _with_advised(loop: Loop, changes: list[Change]) -> list[Change]:
    """The numbers of DataLoader workers in their order, then the others."""
    now = loop.settings
    advised = [
        Change(
            workers=None if settings.workers == now.workers else settings.workers,
            prefetch=None if settings.prefetch == now.prefetch else settings.prefetch,
            in_order=None if settings.in_order == now.in_order else settings.in_order,
        )
        for settings in loop.advised
        if settings.workers <= MOST_WORKERS and settings.prefetch <= MOST_PREFETCH
    ]
    each = dict.fromkeys((*changes, *advised))
    return sorted(each, key=lambda change: inf if change.workers is None else change.workers)


def _other_workers(loop: Loop, numbers: set[int]) -> list[int]:
    """Those of the numbers that say something: of DataLoader workers that find no CPU, the first is enough."""
    now = loop.settings.workers
    others = sorted(number for number in numbers - {now} if number <= now + 1 or finds_cpus(number, loop))
    crowded = [number for number in others if none_free(number, loop)]
    return [number for number in others if number not in crowded[1:]]
