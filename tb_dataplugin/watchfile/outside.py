"""What a run does outside of its steps: it makes datasets and loaders, evaluates, saves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tb_dataplugin.watchfile.by_loader import by_loader
from tb_dataplugin.watchfile.lines import LoaderNumbers
from tb_dataplugin.watchfile.loaders import main_numbers, num_workers
from tb_dataplugin.watchfile.reading import Part, Run

_UNCERTAIN: Final = 0.1
"""Of the time outside of steps: by how much it may be off at most, for untimed steps in a run of an earlier version,
and for steps that went on beside those of another thread."""
_TOGETHER: Final = 1.05
"""Steps of several threads at a time add up to more than the run."""
ANEW: Final = 3
"""Times that a loader is made in one process, from which that is said: two may be one for each part of a program."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Microseconds of a run's processes: `us`, `steps_us`, `first_us` (until an epoch's first batch) and `recording_us`
    (for which the program stood still so that a window could be recorded) are all of `whole_us`. Of `us`, `between_us`
    lies between two epochs, `times` of them; None: an earlier version recorded it.
    """

    whole_us: float
    steps_us: float
    first_us: float
    recording_us: float
    epochs: int
    times: int
    between_us: float | None
    longest_us: float
    made: int
    """Times that the loader with most steps was made; 0: unknown, or too few to be a habit."""
    made_epochs: int
    has_workers: bool
    """Of it."""
    is_of_several: bool
    """More than one DataLoader gave batches, and all times are those of all of them."""

    @property
    def us(self) -> float:
        return self.whole_us - self.steps_us - self.first_us - self.recording_us

    @property
    def share(self) -> float:
        return self.share_of(self.us)

    def share_of(self, time_us: float) -> float:
        """Of the run."""
        return time_us / self.whole_us

    @property
    def each_us(self) -> float | None:
        """Between two epochs, on average; None for none, also where every time was nothing."""
        return self.between_us / self.times if self.between_us and self.times else None

    @property
    def leads(self) -> bool:
        """It is the largest part of the run."""
        return self.us > max(self.steps_us, self.first_us)


def find_outside(run: Run) -> Outside | None:
    """None where it is not known."""
    numbers = [each for part in run.parts for each in _all(part)]
    whole_us = sum(1e6 * (part.intervals[-1].end - part.head.t) for part in run.parts if part.intervals)
    first_us = sum(each.first_wait_us for each in numbers)
    steps_us = sum(each.step_us + each.other_us for each in numbers)
    if whole_us <= 0 or steps_us + first_us > _TOGETHER * whole_us:
        return None
    steps_us = min(steps_us, max(0.0, whole_us - first_us))
    first_us = min(first_us, whole_us)
    knows_all = all(any(each.made for each in _all(part)) for part in run.parts if any(_all(part)))
    made, made_epochs = _made(run)
    found = Outside(
        whole_us=whole_us,
        steps_us=steps_us,
        first_us=first_us,
        recording_us=min(recording_us(run), whole_us - steps_us - first_us),
        epochs=sum(each.epochs for each in numbers),
        times=sum(each.between for each in numbers),
        between_us=sum(each.between_us for each in numbers) if knows_all else None,
        longest_us=max((each.longest_between_us for each in numbers), default=0.0),
        made=made,
        made_epochs=made_epochs,
        has_workers=any(num_workers(part) for part in run.parts),
        is_of_several=bool(by_loader(run)),
    )
    off_us = sum(each.beside_us for each in numbers) + (0.0 if knows_all else _untimed_us(numbers))
    return found if off_us <= _UNCERTAIN * found.us or not off_us else None


def recording_us(run: Run) -> float:
    """For which it stood still so that windows could be recorded."""
    return sum(interval.recording_us for interval in run.intervals)


def _all(part: Part) -> Iterator[LoaderNumbers]:
    return (each for interval in part.intervals for each in interval.loaders)


def _untimed_us(numbers: list[LoaderNumbers]) -> float:
    """Of steps whose time an earlier version did not record: the last of each epoch, and those that were counted."""
    steps = sum(each.steps for each in numbers)
    mean_us = sum(each.step_us for each in numbers) / steps if steps else 0.0
    return mean_us * sum(each.unused_steps + each.epochs for each in numbers)


def _made(run: Run) -> tuple[int, int]:
    """Of the process in which it was made most often."""
    by_part = [main_numbers(part) for part in run.parts]
    made = [(sum(each.made for each in part), sum(each.epochs for each in part)) for part in by_part]
    most = max(made, default=(0, 0))
    return most if most[0] >= ANEW else (0, 0)
