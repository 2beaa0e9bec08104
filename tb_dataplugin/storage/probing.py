"""The measurements: every form of the samples, cold and warm, by turns; then more readers of the files as they are."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tb_dataplugin.errors import DataPipelineError
from tb_dataplugin.storage.layouts import Layout, files, packed
from tb_dataplugin.storage.page_cache import Cold, can_be_emptied, drop
from tb_dataplugin.storage.reading import Reads, timed, timed_apart
from tb_dataplugin.storage.samples import Samples
from tb_dataplugin.units import data_size

ROUNDS: Final = 3
READERS: Final = (1, 2, 4, 8, 16, 32)

SPARE: Final = 1.5
"""Free bytes for each byte that is written."""

COPIES: Final = 3
"""Forms in which the samples are written."""


@dataclass(frozen=True, slots=True)
class Series:
    """The same measurement, once in each round. order: random | sequential; is_cold: out of the page cache before."""

    layout: str
    order: str
    is_cold: bool
    readers: int
    reads: list[Reads] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Samples per second, lowest first."""
        return sorted(reads.per_s for reads in self.reads)

    @property
    def per_s(self) -> float:
        """The median round's."""
        rates = self.rates
        return rates[len(rates) // 2]

    @property
    def median(self) -> Reads:
        return sorted(self.reads, key=lambda reads: reads.per_s)[len(self.reads) // 2]


@dataclass(slots=True)
class Probed:
    """`cold`: whether files left the page cache when they were put out of it."""

    samples: Samples
    series: list[Series] = field(default_factory=list)
    cold: Cold = "unknown"
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False

    def find(self, layout: str, order: str = "random", is_cold: bool = True, readers: int = 1) -> Series | None:
        """None where it was not measured."""
        wanted = (layout, order, is_cold, readers)
        fits = [one for one in self.series if (one.layout, one.order, one.is_cold, one.readers) == wanted and one.reads]
        return fits[0] if fits else None


def probe(samples: Samples, scratch: Path | None, seconds: float, say: Callable[[str], None]) -> Probed:
    """Takes about `seconds`, beside the time for writing. An interrupt (Ctrl-C) ends it with what it has.

    Raises DataPipelineError where a file cannot be read.
    """
    probed = Probed(samples)
    place = scratch or samples.chosen[0].path.resolve().parent
    try:
        with tempfile.TemporaryDirectory(prefix=".tb-dataplugin-probe-", dir=_writable(place, probed)) as folder:
            layouts = [files(samples), *_packed(samples, Path(folder), place, probed, say)]
            try:
                _measure(probed, layouts, seconds, say)
            except KeyboardInterrupt:
                probed.interrupted = True
    except OSError as error:
        raise DataPipelineError(f"cannot read the samples: {error.filename or place}: {error.strerror}") from None
    return probed


def _writable(place: Path, probed: Probed) -> Path | None:
    """None: the system's folder for temporary files, which is left empty."""
    if os.access(place, os.W_OK | os.X_OK):
        return place
    probed.notes.append(f"{place} cannot be written, so packed forms were not measured; name a folder with --scratch")
    return None


def _packed(
    samples: Samples, folder: Path, place: Path, probed: Probed, say: Callable[[str], None]
) -> Sequence[Layout]:
    if folder.parent != place:
        return ()
    needed, free = COPIES * samples.chosen_size, shutil.disk_usage(folder).free
    if free < SPARE * needed:
        text = f"packed forms would take {data_size(needed)}, and {data_size(free)} are free: not measured"
        probed.notes.append(text)
        return ()
    if folder.stat().st_dev != samples.chosen[0].path.stat().st_dev:
        probed.notes.append(f"{place} is another file system than the samples': packed forms are measured there")
    say(f"writing {data_size(needed)} into {folder}, removed afterwards")
    try:
        return packed(samples, folder)
    except (OSError, sqlite3.Error) as error:
        probed.notes.append(f"packed forms could not be written: {error}")
        return ()


def _measure(probed: Probed, layouts: Sequence[Layout], seconds: float, say: Callable[[str], None]) -> None:
    """All of a round, then the next: what drifts hits all alike."""
    plan = [(layout, Series(layout.name, "random", cold, 1)) for layout in layouts for cold in (True, False)]
    plan += [(layout, Series(layout.name, "sequential", True, 1)) for layout in layouts[1:2]]
    plan += [(layouts[0], Series(layouts[0].name, "random", True, readers)) for readers in READERS[1:]]
    probed.series = [series for _, series in plan]
    answers = {can_be_emptied(layout.paths) for layout in layouts}
    probed.cold = "no" if "no" in answers else "unknown" if "unknown" in answers else "yes"
    each = seconds / (ROUNDS * len(plan))
    for number in range(ROUNDS):
        for layout, series in plan:
            name = f"{layout.name}, {series.order}, {'cold' if series.is_cold else 'warm'}, {series.readers} readers"
            say(f"round {number + 1} of {ROUNDS}: {name}")
            numbers = _ordered(range(layout.count), series.order, number)
            series.reads.append(_one(layout, series, numbers, each))


def _ordered(numbers: Sequence[int], order: str, seed: int) -> list[int]:
    mixed = list(numbers)
    if order == "random":
        random.Random(seed).shuffle(mixed)
    return mixed


def _one(layout: Layout, series: Series, numbers: list[int], seconds: float) -> Reads:
    if series.is_cold:
        drop(layout.paths)
    is_packed = len(layout.paths) < layout.count
    with layout.open() as read:
        if not series.is_cold:
            into_the_cache = timed(read, numbers, 1, seconds)
            numbers = numbers[: len(into_the_cache.latencies_s)]
        elif is_packed and series.order == "random":
            return timed_apart(read, numbers, seconds, lambda: drop(layout.paths))
        return timed(read, numbers, series.readers, seconds)
