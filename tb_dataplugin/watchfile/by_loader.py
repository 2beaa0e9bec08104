"""Of a run with several DataLoaders, what is known of each: its batches, how long they were waited for, its epochs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.watchfile.lines import LoaderLine, LoaderNumbers
from tb_dataplugin.watchfile.loaders import main_loader
from tb_dataplugin.watchfile.reading import Run
from tb_dataplugin.watchfile.takers import Whose, whose_of
from tb_dataplugin.watchfile.workers import Busy, busy_of

_LAST: Final = 63
"""Number of the last loader with a line of its own: all later ones of the process count as that one, as in annotate's
`follower`."""

_Key = tuple[int, str, int, int]


@dataclass(frozen=True, slots=True)
class LoaderTotal:
    """One DataLoader over all processes of a run, or those like it that the program made anew; microseconds."""

    number: int
    dataset: str
    """Its class; "" where it is not known."""
    batch_size: int
    """0: not known."""
    num_workers: int
    is_main: bool
    """It gave most of a process's batches: the run's steps are its."""
    batches: int
    unknown: int
    """Of `batches`: those that nobody knows the data wait of, since a window was recorded or another loader's batches
    lay between, of the same thread."""
    wait_us: float
    """For all others, first batches included."""
    first_wait_us: float
    first_waits: int
    """Epochs that `first_wait_us` is of."""
    epochs: int
    between: int
    """Of `epochs`: those that followed another, of any loader, with `between_us` outside of steps before them."""
    between_us: float
    longest_between_us: float
    in_steps_us: float = 0.0
    """Of `wait_us`: for those batches that came in the run's steps."""
    joined: int = 0
    """Of `batches`: those that came in steps of another loader's."""
    busy: Busy | None = None
    """Of its DataLoader workers."""
    whose: Whose = "own"
    """Which thread waited."""
    is_alike: bool = False
    """Another one has the same dataset and settings: its number tells them apart."""

    @property
    def has_others(self) -> bool:
        return self.number >= _LAST

    @property
    def each_between_us(self) -> float | None:
        """None for none, also where every time was nothing."""
        return self.between_us / self.between if self.between and self.between_us else None


def in_steps(loaders: Sequence[LoaderTotal]) -> list[tuple[LoaderTotal, float]]:
    """Those that the run's steps take batches from, with their shares of the steps' data wait, the largest first; empty
    where the main one is the only one.
    """
    found = [one for one in loaders if one.is_main or one.joined]
    whole_us = sum(one.in_steps_us for one in found)
    if len(found) < 2 or whole_us <= 0:
        return []
    shares = [(one, max(0.0, one.in_steps_us) / whole_us) for one in found]
    return sorted(shares, key=lambda each: -each[1])


def by_loader(run: Run) -> tuple[LoaderTotal, ...]:
    """The one with most steps first, then by data wait; empty for a run with a single DataLoader."""
    lines: defaultdict[_Key, list[LoaderNumbers]] = defaultdict(list)
    leading: set[_Key] = set()
    for part in run.parts:
        settings = {line.loader: line for line in part.loaders}
        main = main_loader(part)
        for interval in part.intervals:
            for each in interval.loaders:
                key = _key(each.loader, settings.get(each.loader))
                lines[key].append(each)
                if each.loader == main:
                    leading.add(key)
    totals = [_total(key, numbers, is_main=key in leading) for key, numbers in lines.items()]
    totals = [one for one in totals if one.batches]
    if len(totals) < 2:
        return ()
    alike = Counter(map(_settings, totals))
    totals = [replace(one, is_alike=alike[_settings(one)] > 1) for one in totals]
    if not any(one.joined for one in totals):  # what is said of DataLoader workers is the main one's
        totals = [replace(one, busy=None) for one in totals]
    return tuple(sorted(totals, key=lambda one: (not one.is_main, -one.wait_us, one.number)))


def _key(number: int, line: LoaderLine | None) -> _Key:
    """A process that is started again numbers the loaders of the same program alike; another program's differ."""
    return (number, "", 0, 0) if line is None else (number, line.dataset, line.batch_size, line.num_workers)


def _settings(one: LoaderTotal) -> tuple[str, int, int]:
    return one.dataset, one.batch_size, one.num_workers


def _total(key: _Key, numbers: list[LoaderNumbers], *, is_main: bool) -> LoaderTotal:
    number, dataset, batch_size, num_workers = key
    first_us, joined_us = sum(each.first_wait_us for each in numbers), sum(each.joined_wait_us for each in numbers)
    return LoaderTotal(
        number=number,
        dataset=dataset,
        batch_size=batch_size,
        num_workers=num_workers,
        is_main=is_main,
        batches=sum(each.batches for each in numbers),
        unknown=sum(each.unused_steps for each in numbers),
        wait_us=sum(each.wait_us - each.others_wait_us + each.joined_wait_us for each in numbers) + first_us,
        in_steps_us=sum(each.wait_us - each.others_wait_us for each in numbers) if is_main else joined_us,
        joined=sum(each.joined for each in numbers),
        busy=busy_of(numbers),
        first_wait_us=first_us,
        first_waits=sum(each.timed_firsts for each in numbers),
        epochs=sum(each.epochs for each in numbers),
        between=sum(each.between for each in numbers),
        between_us=sum(each.between_us for each in numbers),
        longest_between_us=max((each.longest_between_us for each in numbers), default=0.0),
        whose=whose_of(numbers),
    )
