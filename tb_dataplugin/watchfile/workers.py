"""How busy DataLoader workers were over a run, and how many batches lay ready, with how sure either is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.units import count, duration, percent, plural, significant
from tb_dataplugin.watchfile.lines import LoaderNumbers

_FEWEST: Final = 5
"""Batches that an interval can be said from."""
_NORMAL: Final = 1.959964
_EVERY: Final = 20
"""Of so many batches, one is measured."""
_NEARLY_ALL: Final = 0.9
_MISSED: Final = 3
"""Of so many times as many steps as there are to a measured batch, one is measured with a probability of 95%."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Share of the DataLoader workers' time; the ends of its 95% interval are None where they are not known."""

    share: float
    low: float | None
    high: float | None
    batches: int
    """Whose build and the wait before it are known."""
    is_of_epochs: bool
    """False, in runs of earlier versions: what lies between epochs may count as a wait of persistent workers."""
    of: int | None = None
    """Batches that the loop had, where `batches` are all that the workers told of; None: they are a sample."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Batches that lay ready as the loop asked for one, on average."""

    mean: float
    batches: int
    of: int
    """Steps of the loop: with fewer batches they are a sample."""


def busy_of(numbers: Iterable[LoaderNumbers]) -> Busy | None:
    """None: not known."""
    known = list(numbers)
    return _of_all(known) or _of_sample(known)


def _of_all(numbers: list[LoaderNumbers]) -> Busy | None:
    """Without an interval, for it is no sample. None: most were not told of, as by earlier versions."""
    known = [each for each in numbers if each.all_built]
    build, starved = sum(each.all_build_us for each in known), sum(each.all_starved_us for each in known)
    batches, others = sum(each.all_built for each in known), sum(each.built for each in numbers if not each.all_built)
    if not build + starved or batches <= _EVERY * others:
        return None
    handed_out = sum(each.batches for each in numbers)
    return Busy(build / (build + starved), None, None, batches, is_of_epochs=True, of=handed_out)


def _of_sample(numbers: list[LoaderNumbers]) -> Busy | None:
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
    part = _long_steps(numbers, batches)
    low, high = max(0.0, share - within) * (1 - part), min(1.0, share + within) * (1 - part) + part
    return Busy(share, low, high, batches, is_of_epochs)


def _long_steps(numbers: list[LoaderNumbers], measured: int) -> float:
    """What those steps took longer than usual that may all lie beside the measured batches, as a share of the time of
    all: for so long DataLoader workers may have built, or been starved, unseen. Steps are known of every batch.
    """
    times: Counter[int] = Counter()
    for each in numbers:
        times.update({int(bucket): steps for bucket, steps in each.step_times.items()})
    steps, total = times.total(), sum(each.step_us for each in numbers)
    if not steps or not total:
        return 0.0
    left = math.ceil(_MISSED * steps / measured)
    usual, longer = _upper_us(_middle(times)), 0.0
    for bucket in sorted(times, reverse=True):
        longest = min(left, times[bucket])
        longer += longest * max(0.0, _upper_us(bucket) - usual)
        left -= longest
    return min(1.0, longer / total)


def _middle(times: Counter[int]) -> int:
    """The bucket of the median."""
    left = times.total() / 2
    for bucket in sorted(times):
        left -= times[bucket]
        if left <= 0:
            return bucket
    return 0


def _upper_us(bucket: int) -> float:
    return float(2 ** (bucket / 4))


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
    return Ready(sum(each.ready for each in known) / asked, asked, sum(each.steps + each.joined for each in known))


def stages_note(numbers: Iterable[LoaderNumbers]) -> str:
    """Of which batches the times by stage are, and how long building one took in all that are known."""
    known = list(numbers)
    measured, batches = sum(each.measured for each in known), sum(each.all_built for each in known)
    note = f"measured on {plural(measured, 'batch')}"
    if not batches:
        return note
    build = duration(sum(each.all_build_us for each in known) / batches)
    return f"{note}; building a batch took {build} on average over {count(batches)}"


def busy_number(busy: Busy) -> str:
    """``89%``, or ``about 89%`` where no interval is known: without digits that the batches do not carry."""
    if busy.of is not None and busy.batches >= _NEARLY_ALL * busy.of:
        return percent(busy.share)
    if busy.low is None or busy.high is None:
        return f"about {_whole(busy.share)}"
    return _whole(busy.share) if busy.high - busy.low >= 0.01 else percent(busy.share)


def busy_note(busy: Busy) -> str:
    """What the number is of, and how sure: beside `busy_number`."""
    measured = f"measured on {plural(busy.batches, 'batch')}"
    if busy.of is not None and busy.batches < busy.of:
        measured = f"measured on {count(busy.batches)} of {plural(busy.of, 'batch')}"
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
