"""How busy DataLoader workers were over a run, and how many batches lay ready, with how sure either is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.units import percent, plural, significant
from tb_dataplugin.watchfile.lines import LoaderNumbers

_FEWEST: Final = 5
"""Batches that an interval can be said from."""
_NORMAL: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Busy:
    """Share of the DataLoader workers' time; the ends of its 95% interval are None where they are not known."""

    share: float
    low: float | None
    high: float | None
    batches: int
    """Whose build and the wait before it were measured."""
    is_of_epochs: bool
    """False, in runs of earlier versions: what lies between epochs may count as a wait of persistent workers."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Batches that lay ready as the loop asked for one, on average."""

    mean: float
    batches: int
    of: int
    """Steps of the loop: with fewer batches they are a sample."""


def busy_of(numbers: Iterable[LoaderNumbers]) -> Busy | None:
    """None: not known."""
    known = [each for each in numbers if each.built]
    build, starved = sum(each.build_us for each in known), sum(each.starved_us for each in known)
    if not build + starved:
        return None
    share, batches = build / (build + starved), sum(each.built for each in known)
    is_of_epochs = all(each.build_us2 or not each.build_us for each in known)
    if batches < _FEWEST or not is_of_epochs:
        return Busy(share, None, None, batches, is_of_epochs)
    within = _t(batches - 1) * _error(known, share) / (build + starved)
    if not within:  # each has waited as much as any other: that says nothing of those that were not measured
        return Busy(share, None, None, batches, is_of_epochs)
    return Busy(share, max(0.0, share - within), min(1.0, share + within), batches, is_of_epochs)


def _error(known: list[LoaderNumbers], share: float) -> float:
    """Standard error of the part of `share` that its batches' times do not explain, in microseconds: that of a ratio of
    two sums over a sample. The sums of squares add up over intervals as the times do.
    """
    builds, waits = sum(each.build_us2 for each in known), sum(each.starved_us2 for each in known)
    products, batches = sum(each.build_starved_us2 for each in known), sum(each.built for each in known)
    squares = (1 - share) ** 2 * builds - 2 * share * (1 - share) * products + share**2 * waits
    return math.sqrt(max(0.0, squares) * batches / (batches - 1))


def _t(freedom: int) -> float:
    """Student's t that chance exceeds in 2.5%, within 1% from 4 degrees of freedom on (Cornish and Fisher)."""
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def ready_of(numbers: Iterable[LoaderNumbers]) -> Ready | None:
    """None: not known."""
    known = list(numbers)
    asked = sum(each.asked for each in known)
    if not asked:
        return None
    return Ready(sum(each.ready for each in known) / asked, asked, sum(each.steps for each in known))


def busy_number(busy: Busy) -> str:
    """``89%``, or ``about 89%`` where no interval is known: without digits that the batches do not carry."""
    if busy.low is None or busy.high is None:
        return f"about {_whole(busy.share)}"
    return _whole(busy.share) if busy.high - busy.low >= 0.01 else percent(busy.share)


def busy_note(busy: Busy) -> str:
    """What the number is of, and how sure: beside `busy_number`."""
    measured = f"measured on {plural(busy.batches, 'batch')}"
    if not busy.is_of_epochs:
        return f"busy, {measured}; time between epochs may count as idle"
    if busy.low is None or busy.high is None:
        return f"busy while epochs go on, {measured}"
    low, high = _whole(busy.low).removesuffix("%"), _whole(busy.high)
    if busy.high - busy.low < 0.01:
        low, high = percent(busy.low).removesuffix("%"), percent(busy.high)
    return f"busy while epochs go on (95% interval {low} to {high}, {measured})"


def _whole(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 or not share else percent(share)


def ready_text(ready: Ready) -> str:
    """``1.05 batches ready on average``."""
    if ready.batches >= ready.of:
        return f"{significant(ready.mean)} batches ready on average"
    return f"about {significant(ready.mean, 1)} batches ready on average, measured on {plural(ready.batches, 'batch')}"
