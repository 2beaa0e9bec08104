"""The facts about DataLoader workers that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.analyses.pace import Pace
from tb_dataplugin.analyses.parts import Parts
from tb_dataplugin.findings.thresholds import UNEVEN
from tb_dataplugin.units import duration, listed, plural

LIVED_THROUGH: Final = 0.98
"""Share of the window from which workers count as alive all the time."""


def lived_through(alive: float, workers: float) -> bool:
    """`alive`: how many of the `workers` were alive at once, on average."""
    return alive >= LIVED_THROUGH * workers


@dataclass(frozen=True, slots=True)
class PaceSignals:
    """DataLoader workers that need different times for a batch, by more than chance: those in `slow` need `slow_us`,
    the `others` need `others_us`, and all of them `mean_us`, on average.
    """

    slow: tuple[int, ...]
    slow_us: float
    others: int
    others_us: float
    mean_us: float
    slowest: int
    slowest_us: float

    @classmethod
    def of(cls, pace: Pace) -> PaceSignals:
        others = len(pace.build_ns) - len(pace.slow)
        slow_ns, others_ns = pace.mean_of(slow=True), pace.mean_of(slow=False)
        slow, rest, mean, slowest = (time / 1e3 for time in (slow_ns, others_ns, pace.mean_ns, pace.slowest_ns))
        return cls(pace.slow, slow, others, rest, mean, pace.slowest, slowest)

    @property
    def is_uneven(self) -> bool:
        return self.slowest_us >= UNEVEN * self.mean_us

    @property
    def who(self) -> str:
        """The slow ones."""
        are_several = len(self.slow) > 1
        return f"DataLoader worker{'s' if are_several else ''} {listed([str(worker) for worker in self.slow])}"

    @property
    def text(self) -> str:
        """A clause."""
        need, rest = ("need" if len(self.slow) > 1 else "needs"), "the other one" if self.others == 1 else "the others"
        return f"{self.who} {need} {duration(self.slow_us)} for a batch, {rest} {duration(self.others_us)}"


@dataclass(frozen=True, slots=True)
class PartsSignals:
    """Parts of an iterable dataset of unequal size. `largest`: the DataLoader worker that builds for longest, `mine` of
    the `batches` of these `epochs`; 0 epochs: of a piece of one. `to_mean`: for how long it builds over the mean.
    `without`: how many of the `workers` deliver none.
    """

    largest: int
    mine: int
    batches: int
    epochs: int
    to_mean: float
    is_most: bool
    without: int
    workers: int

    @classmethod
    def of(cls, parts: Parts) -> PartsSignals:
        return cls(
            largest=parts.largest,
            mine=parts.largest_batches,
            batches=parts.batches,
            epochs=len(parts.epochs) if parts.whole else 0,
            to_mean=parts.to_mean,
            is_most=parts.is_most,
            without=parts.without,
            workers=len(parts.workers),
        )

    @property
    def is_uneven(self) -> bool:
        return self.is_most and self.to_mean >= UNEVEN

    @property
    def text(self) -> str:
        """A clause."""
        whole = {0: "of this window", 1: "of an epoch"}.get(self.epochs, f"of {self.epochs} epochs")
        is_all = self.mine == self.batches
        some = "all" if is_all else f"{self.mine} of the"
        others = f", and {self.without} of {self.workers} none" if self.without and not is_all else ""
        return f"DataLoader worker {self.largest} delivers {some} {plural(self.batches, 'batch')} {whole}{others}"


@dataclass(frozen=True, slots=True)
class SmoothingSignals:
    """What a longer queue could smooth. `starved`: as `WorkerSignals.starved`, without pauses of the loop in which the
    queues fill whatever the batches take. `excess_us`: what batches of the window took to build above their mean.
    A worker's time, on average, in which it is starved: `ahead_us` while the loop waits for another DataLoader,
    `paused_us` in so many `pauses` of the loop that come again. `ahead_most_us`, `paused_most_us`: of that, what it
    could build for a queue of twice the length.
    """

    starved: float
    excess_us: float
    median_us: float
    p95_us: float
    ahead_us: float = 0.0
    paused_us: float = 0.0
    pauses: int = 0
    ahead_most_us: float = 0.0
    paused_most_us: float = 0.0

    @property
    def text(self) -> str:
        """A clause."""
        return f"building a batch takes {duration(self.median_us)} (median), {duration(self.p95_us)} at p95"


@dataclass(frozen=True, slots=True)
class WorkerSignals:
    """DataLoader workers of the loader with most batches. Shares are of their lifetimes, all of them together, without
    what is told apart.
    """

    workers: int
    """Worker ids that lived in the window."""
    alive: float
    """How many were alive at once, on average over the window."""
    batches: float
    """Batches that each finished in the window, on average."""
    busy: float
    """Share in which they build batches."""
    starved: float
    """Share in which they have no index in their queue although the loader still has indices to give."""
    slowest: int
    """The worker with the largest skew."""
    skew: float
    """Its busy share over that of all."""
    pace: PaceSignals | None = None
    """None where they are alike, or differ by no more than chance."""
    parts: PartsSignals | None = None
    """None where each has as many batches of an epoch, or that is not known."""
    largest_busy: float = 0.0
    """Share of the loop's time in which the worker of the largest of these builds batches."""
    smoothing: SmoothingSignals | None = None
    """None where no build time is known."""
    taken_per_built: float = 1.0
    """Batches that the loop took in the window for each that was built in it: above 1 it lived on batches from before,
    and in the long run each step needs so many times of what workers spent on it here.
    """
    spared: float = 0.0
    """What a worker did not build of the batches taken, on average, since an epoch came to its end and no indices were
    left: as a share of the loop's time. 0.0 in the middle of an epoch.
    """
    slowest_spared: float = 0.0
    """The same of the worker of the largest part, else of the slowest one."""
    left_out: str = ""
    """Names what of the window, and so of their lifetimes, is told apart."""

    @property
    def whole(self) -> str:
        """What shares are of, as a sentence has it."""
        return self._left("window" if lived_through(self.alive, self.workers) else "their lifetimes")

    @property
    def of_whole(self) -> str:
        return f"of {'the ' if self.whole.startswith('window') else ''}{self.whole}"

    @property
    def of_window(self) -> str:
        """What shares of the loop's time are of."""
        return f"of the {self._left('window')}"

    def _left(self, time: str) -> str:
        return f"{time} without {self.left_out}" if self.left_out else time
