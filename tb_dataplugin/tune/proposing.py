"""Which setting to try next: those that are more likely than not to be kept, then those of which nothing is predicted:
DataLoader workers for which no CPU was free, and settings that the model does not know.

A change is kept where the whole interval of its windows is faster. A prediction is as likely too high as too low, so
what it promises has to be more than half of that interval (`pairs.reach_of`) for the change to be worth a try.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
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
        return _fewest_of_alike(worth_it, facts, lambda forecast: forecast.value)
    most = _most_crowded(facts)
    crowded = [
        one
        for one in _crowded(proposals, facts, best)
        if number_of(in_effect(one.changes, facts.made), WORKERS) <= most
    ]
    if crowded:
        return _fewest_of_alike(crowded, facts, lambda forecast: forecast.low)
    return next((one for one in proposals if one.forecast is None), None)


def leaves_crowded(
    facts: Facts, best: Changes, tried: Iterable[Tried], model: Model | None, epochs_end: bool, names: Iterable[str]
) -> bool:
    """Whether more DataLoader workers that may be faster, but for which no CPU was free, are left. Arguments as of
    `next_proposal`.
    """
    return bool(_crowded(_left(facts, best, tuple(tried), model, epochs_end, frozenset(names)), facts, best))


def _crowded(proposals: Iterable[Proposal], facts: Facts, best: Changes) -> list[Proposal]:
    """More DataLoader workers than the best has, which may be faster although no CPU was free for them."""
    now = number_of(in_effect(best, facts.made), WORKERS)
    return [
        one
        for one in proposals
        if one.forecast is not None
        and one.forecast.crowded
        and one.forecast.low < 1 - SAME
        and number_of(in_effect(one.changes, facts.made), WORKERS) > now
    ]


def _most_crowded(facts: Facts) -> int:
    """DataLoader workers to measure at most where no CPU was free for more: what they gain only a measurement shows,
    and more than the machine has CPUs would be tried for the load of the moment; but one number more than now always.
    """
    more = (number for number in NUMBERS if number > number_of(facts.made, WORKERS))
    return max(facts.cpus, next(more, 0))


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


def _fewest_of_alike(proposals: list[Proposal], facts: Facts, of: Callable[[Forecast], float]) -> Proposal:
    """Of those within `ALIKE` of the fastest by their forecast: the fewest DataLoader workers, the shortest queue."""
    values = [math.inf if one.forecast is None else of(one.forecast) for one in proposals]
    alike = [one for one, value in zip(proposals, values, strict=True) if value <= (1 + ALIKE) * min(values)]

    def size(proposal: Proposal) -> tuple[int, int]:
        settings = in_effect(proposal.changes, facts.made)
        return number_of(settings, WORKERS), number_of(settings, PREFETCH)

    return min(alike, key=size)


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
