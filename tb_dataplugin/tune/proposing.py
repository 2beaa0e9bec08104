"""Which setting to try next: those that are more likely than not to be kept, then a few that the model does not know.

A change is kept where the whole interval of its windows is faster. A prediction is as likely too high as too low, so
what it promises has to be more than half of that interval (`pairs.reach_of`) for the change to be worth a try.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.tune.pairs import LOOKS, SAME, Ratio, reach_of
from tb_dataplugin.tune.repeating import repeats
from tb_dataplugin.tune.running import Facts, Forecast, Model
from tb_dataplugin.tune.setting import (
    CONTEXT,
    IN_ORDER,
    PERSISTENT,
    PIN,
    PREFETCH,
    PREFETCHED,
    THREADS,
    WORKERS,
    Changes,
    Value,
    in_effect,
    number_of,
    with_change,
)
from tb_dataplugin.whatif.best_workers import ALIKE

NUMBERS: Final = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Of DataLoader workers; more than twice the CPUs, or 16, are not tried."""

MOST_PREFETCH: Final = 8


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that was measured against the best of its time, `beside`."""

    changes: Changes
    beside: Changes
    ratio: Ratio | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    changes: Changes
    forecast: Forecast | None


def next_proposal(
    facts: Facts,
    best: Changes,
    tried: Iterable[Tried],
    model: Model | None,
    epochs_end: bool,
    names: Iterable[str],
    pairs: int = LOOKS[-1],
) -> Proposal | None:
    """The most promising change of the best, or None where nothing is left.

    Args:
        epochs_end: an epoch ended within a window, so that what it costs to begin one is measured.
        names: settings that may be changed; none: all.
        pairs: of windows, at most.
    """
    earlier = tuple(tried)
    proposals = _left(facts, best, earlier, model, epochs_end, frozenset(names))
    if model is None:
        return proposals[0] if proposals else None
    worth_it = [one for one in proposals if one.forecast is not None and _is_likely(one, facts, best, earlier, pairs)]
    if worth_it:
        return min(worth_it, key=lambda one: _rank(one, facts))
    return next((one for one in proposals if one.forecast is None), None)


def crowded_out(
    facts: Facts, best: Changes, tried: Iterable[Tried], model: Model | None, epochs_end: bool, names: Iterable[str]
) -> Changes | None:
    """Of the changes that would gain only what other programs lose, the one that would gain most; None for none."""
    left = _left(facts, best, tuple(tried), model, epochs_end, frozenset(names))
    known = [(one.forecast.low, one.changes) for one in left if one.forecast is not None and one.forecast.crowded]
    faster = [(round(low, 1), changes) for low, changes in known if low < 1 - SAME]
    most = min(faster, key=lambda one: (one[0], number_of(in_effect(one[1], facts.made), WORKERS)), default=None)
    return None if most is None else most[1]


def _left(
    facts: Facts, best: Changes, tried: tuple[Tried, ...], model: Model | None, epochs_end: bool, names: frozenset[str]
) -> list[Proposal]:
    """Every change of the best that is left to try. Arguments as of `next_proposal`."""
    seen = {one.changes for one in tried} | {best}
    return [
        Proposal(changes, None if model is None else model.forecast(changes, best))
        for name, changes in (*_neighbours(facts, best, epochs_end), *_by_request(facts, best, names))
        if changes not in seen
        and not repeats(changes, facts)
        and (not names or name in names)
        and not _is_ruled_out(name, changes, facts, tried)
    ]


def _is_likely(proposal: Proposal, facts: Facts, best: Changes, tried: tuple[Tried, ...], pairs: int) -> bool:
    """To be kept, if its windows scatter as those before did."""
    assert proposal.forecast is not None
    scatters = [one.ratio.scatter for one in tried if one.ratio is not None]
    in_process = any(not number_of(in_effect(side, facts.made), WORKERS) for side in (best, proposal.changes))
    reach = reach_of(statistics.median(scatters) if scatters else 0.0, max(2, pairs), in_process)
    return math.log(max(proposal.forecast.value, 1e-6)) < -reach


def _rank(proposal: Proposal, facts: Facts) -> tuple[int, int, int]:
    value = 1.0 if proposal.forecast is None else max(proposal.forecast.value, 1e-3)
    settings = in_effect(proposal.changes, facts.made)
    return round(math.log(value) / ALIKE), number_of(settings, WORKERS), number_of(settings, PREFETCH)


def _neighbours(facts: Facts, best: Changes, epochs_end: bool) -> Iterator[tuple[str, Changes]]:
    """One setting changed, by its name; in the order in which they are tried where nothing is predicted."""
    settings = in_effect(best, facts.made)
    workers = number_of(settings, WORKERS)
    for number in _worker_numbers(facts.cpus, workers):
        yield WORKERS, with_change(best, WORKERS, number, facts.made)
    if facts.device and not settings.get(PIN):
        yield PIN, with_change(best, PIN, True, facts.made)
    if not workers:
        return
    depth = 2 * (number_of(settings, PREFETCH) or PREFETCHED)
    if depth <= MOST_PREFETCH:
        yield PREFETCH, with_change(best, PREFETCH, depth, facts.made)
    if epochs_end and not settings.get(PERSISTENT):
        yield PERSISTENT, with_change(best, PERSISTENT, True, facts.made)
    if not facts.iterable and _has_order(facts, settings):
        yield IN_ORDER, with_change(best, IN_ORDER, False, facts.made)
    if facts.opencv and settings.get(THREADS) is None:
        yield THREADS, with_change(best, THREADS, 1, facts.made)


def _has_order(facts: Facts, settings: Mapping[str, Value]) -> bool:
    """Of several DataLoader workers, that this torch can give up."""
    return IN_ORDER in facts.takes and bool(settings.get(IN_ORDER, True)) and number_of(settings, WORKERS) > 1


def _by_request(facts: Facts, best: Changes, names: frozenset[str]) -> Iterator[tuple[str, Changes]]:
    """How workers start: it costs or saves time at an epoch's start alone, and may break what the user relies on. And
    the order of an iterable dataset's batches: each worker has to deliver its own part, and windows are too short to
    see the wait for the slow ones after the batches of the quick ones.
    """
    settings = in_effect(best, facts.made)
    if IN_ORDER in names and facts.iterable and _has_order(facts, settings):
        yield IN_ORDER, with_change(best, IN_ORDER, False, facts.made)
    if CONTEXT in names and number_of(settings, WORKERS):
        for method in ("forkserver", "spawn", "fork"):
            if settings.get(CONTEXT) != method:
                yield CONTEXT, with_change(best, CONTEXT, method, facts.made)


def _worker_numbers(cpus: int, current: int) -> list[int]:
    """The CPUs first, then the others, nearest first."""
    most = max(16, 2 * cpus)
    numbers = {number for number in (*NUMBERS, cpus) if 0 <= number <= most} - {current}
    return sorted(numbers, key=lambda number: (abs(math.log2((number + 0.5) / (cpus + 0.5))), number))


def _is_ruled_out(name: str, changes: Changes, facts: Facts, tried: Iterable[Tried]) -> bool:
    """More DataLoader workers than a number that brought nothing over fewer, and the same downwards; or a value of
    another setting that brought nothing before.
    """
    workers = number_of(in_effect(changes, facts.made), WORKERS)
    for one in tried:
        if name != WORKERS:
            if not one.kept and one.changes.get(name) == changes.get(name) != one.beside.get(name):
                return True
            continue
        there, beside = (number_of(in_effect(side, facts.made), WORKERS) for side in (one.changes, one.beside))
        if one.kept or there == beside:
            continue
        if (there > beside and workers > there) or (there < beside and workers < there):
            return True
    return False
