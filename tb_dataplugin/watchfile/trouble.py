"""What went wrong in a run's batches, and which of their samples were slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.watchfile.lines import LoaderNumbers, SlowSample

MOST_SLOW: Final = 10


@dataclass(frozen=True, slots=True)
class Trouble:
    """A stage that exceptions left."""

    stage: str
    failures: int
    samples: int
    """In which these were looked for: the measured ones, and all others where any of them came from there. Some stages'
    failures are seen in measured batches only."""
    retries: int
    """Calls of it, for a sample in which it had failed: of measured batches only."""


@dataclass(frozen=True, slots=True)
class Slow:
    """A sample that was among the slowest of an interval."""

    sample: SlowSample
    """Where it took longest."""
    times: int
    """Intervals in which it was one of them."""


def troubles(numbers: Sequence[LoaderNumbers]) -> tuple[Trouble, ...]:
    """Most failures first."""
    failures, noticed, retries = Counter[str](), Counter[str](), Counter[str]()
    for each in numbers:
        failures.update(each.failures)
        noticed.update(each.other_failures)
        retries.update(each.retries)
    measured, others = sum(each.measured_samples for each in numbers), sum(each.other_samples for each in numbers)
    found = (
        Trouble(
            stage,
            failures=failures[stage] + noticed[stage],
            samples=measured + others if noticed[stage] else measured,
            retries=retries[stage],
        )
        for stage in {**failures, **noticed, **retries}
    )
    return tuple(sorted(found, key=lambda one: (-one.failures, -one.retries, one.stage)))


def slow_samples(numbers: Sequence[LoaderNumbers]) -> tuple[Slow, ...]:
    """The slowest first, each index once."""
    longest: dict[int, SlowSample] = {}
    times: Counter[int] = Counter()
    for each in numbers:
        for sample in each.slow_samples:
            known = longest.get(sample.index)
            if known is None or sample.took_us > known.took_us:
                longest[sample.index] = sample
        times.update({sample.index for sample in each.slow_samples})
    ordered = sorted(longest.values(), key=lambda sample: (-sample.took_us, sample.index))
    return tuple(Slow(sample, times[sample.index]) for sample in ordered[:MOST_SLOW])
