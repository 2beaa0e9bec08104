"""What is known of a figure's noise, and whether two sides differ by more.

Two things make equal runs differ. *Within* a run, blocks differ; their scatter shows how well the run's mean is known.
*Between* runs there is the luck that a process keeps for its life (memory layout, cores, neighbours on the machine);
only repeated runs show how large it is. With one run on a side it has to be assumed: `Luck`. The more runs
there are, the more they correct the assumption: the moderated t-test (G. K. Smyth, 2004), with Satterthwaite's degrees
of freedom. Figures are logarithms of times, so that differences are relative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_dataplugin.compare import student
from tb_dataplugin.compare.quantity import Bounds

Floats = npt.NDArray[np.float64]

LEAST_BLOCKS: Final = 4
"""Blocks from which a variance is worth something."""

TRIM: Final = 0.25
"""Share of the blocks that a typical block leaves out at either end."""

SHOWN: Final = 0.05
"""What shown intervals miss: they hold the truth in 19 of 20 cases."""

MOST_CORRELATION: Final = 0.8
"""Of a block with the next; more would say that the run holds no two independent blocks."""

Z_95: Final = 1.96

BELIEF: Final = 6
"""How many repeated runs the assumption about luck weighs as much as."""

TIME_LUCK: Final = 0.03
"""Standard deviation (relative) of the time per sample over equal runs, if nobody else uses the machine. Processes that
did the same differed by 3 to 7 % for their life (benchmarks/RESULTS.md)."""

STAGE_LUCK: Final = 0.04
"""The same of a stage's self time. Equal runs differed by 1.4 to 8 % (docs/accuracy.md)."""


LARGEST: Final = 1000.0
BOUNDLESS: Final = math.log(LARGEST)
"""Noise that reaches further than a thousandfold sets no bound; a few uneven blocks and a rare alarm get there."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One run's figure. `variance` is that of its mean by its blocks, None when there are too few of them.

    `luck` is what the run itself shows of the luck of processes: its DataLoader workers do the same and differ by that.
    `estimated`: standard error of what was taken off, in the same way in all runs of its side.
    """

    value: float
    variance: float | None
    freedom: float
    luck: float = 0.0
    estimated: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """After less before. `error` is its standard error, None when the noise is not known."""

    value: float
    error: float | None = None
    freedom: float = 1.0

    @property
    def probability(self) -> float:
        """Of a difference like this, or larger, between equal sides."""
        return 1.0 if not self.error else student.two_sided(self.value / self.error, self.freedom)

    @property
    def relative(self) -> float:
        """``log(1.1) -> 0.1``."""
        return math.expm1(self.value)

    @property
    def bounds(self) -> Bounds | None:
        """Of the relative change, with 95% confidence."""
        reach = self.reach(SHOWN)
        return None if reach is None else Bounds(math.expm1(self.value - reach), math.expm1(self.value + reach))

    def reach(self, probability: float) -> float | None:
        """How far from 0 (or from the truth) noise gets with this probability; None when not known, or boundless."""
        far = math.inf if self.error is None else self.error * student.critical(probability, self.freedom)
        return far if far <= BOUNDLESS else None


def share_variance(share: float, samples: int) -> float:
    """Variance of a share of so many samples, near 0 and 1 as well (Agresti and Coull)."""
    many = samples + Z_95**2
    near = (share * samples + Z_95**2 / 2) / many
    return near * (1 - near) / many


def mean_figure(blocks: Floats) -> Figure | None:
    """Logarithm of the mean of a run's blocks; None where it has no logarithm."""
    mean = float(blocks.mean()) if len(blocks) else 0.0
    if mean <= 0:
        return None
    variance = float(blocks.var(ddof=1)) / len(blocks) if len(blocks) >= LEAST_BLOCKS else None
    return _relative(mean, variance, blocks, len(blocks) - 1)


def typical_figure(blocks: Floats, worker: Floats) -> Figure | None:
    """Logarithm of the typical block, with Yuen's variance (1974), and how much the workers that made them differ.

    Yuen's has no say where a few slow calls fall into about half of the blocks (`_reach_by_ranks`): the larger holds.
    """
    middle = _middle_half(blocks)
    if middle is None or middle[0] <= 0:
        return None
    mean, variance, kept = middle
    if variance is not None:
        variance = max(variance, (_reach_by_ranks(blocks) * mean / Z_95) ** 2)
    known = [_middle_half(blocks[worker == number]) for number in np.unique(worker)]
    logs = [math.log(half[0]) for half in known if half is not None and half[0] > 0]
    luck = float(np.std(logs, ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    figure = _relative(mean, variance, kept, len(blocks) - 2 * int(TRIM * len(blocks)) - 1)
    return Figure(figure.value, figure.variance, figure.freedom, luck)


def _middle_half(blocks: Floats) -> tuple[float, float | None, Floats] | None:
    """Mean of the middle half, its variance, and the blocks with the outer ones moved to its edge.

    A block in which another program had the CPU says nothing about the stage, and may be a hundred times as long.
    """
    if not len(blocks):
        return None
    cut = int(TRIM * len(blocks))
    middle = np.sort(blocks)[cut : len(blocks) - cut]
    kept = np.clip(blocks, middle[0], middle[-1])
    scatter, count = float(((kept - kept.mean()) ** 2).sum()), len(middle)
    return float(middle.mean()), scatter / (count * (count - 1)) if len(blocks) >= LEAST_BLOCKS else None, kept


def _reach_by_ranks(blocks: Floats) -> float:
    """How far (as a logarithm) the middle half may be from that of all blocks there could have been, by their ranks.

    Of a sample in a hundred that takes 60 ms, chance decides whether 2 or 7 of 13 batches have one, and with that
    whether the middle half is of slow batches. So each of its ranks may be as far off as a share of so many blocks is
    (Wilson, 1927), whatever stands there.
    """
    count, cut = len(blocks), int(TRIM * len(blocks))
    share = (np.arange(cut, count - cut) + 0.5) / count
    far = Z_95 * np.sqrt(share * (1 - share) / count + (Z_95 / (2 * count)) ** 2)
    ranked = np.sort(blocks)
    middle = float(ranked[cut : count - cut].mean())
    centre, whole = share + Z_95**2 / (2 * count), 1 + Z_95**2 / count
    ends = [
        float(ranked[np.clip((place / whole * count).astype(int), 0, count - 1)].mean())
        for place in (centre - far, centre + far)
    ]
    return max(abs(math.log(max(end, middle / LARGEST) / middle)) for end in ends)


def _relative(mean: float, variance: float | None, blocks: Floats, freedom: int) -> Figure:
    """Neighbouring blocks that are alike are worth fewer: their correlation widens the variance."""
    if variance is None:
        return Figure(math.log(mean), None, 1)
    return Figure(math.log(mean), variance * inflation(blocks) / mean**2, freedom)


def inflation(blocks: Floats) -> float:
    """Variance of a mean of first-order autoregressive blocks over that of independent ones."""
    off = blocks - blocks.mean()
    power = float(off @ off)
    correlation = min(MOST_CORRELATION, max(0.0, float(off[1:] @ off[:-1]) / power)) if power else 0.0
    return (1 + correlation) / (1 - correlation)


def change(
    before: Sequence[Figure],
    after: Sequence[Figure],
    luck: float,
    shared: float = 0.0,
    layout: float = 0.0,
    drift: float = 0.0,
) -> Change:
    """The difference of the sides' means, and how far noise may have moved it.

    `luck` is the least that is assumed; workers that differ by more widen it. `shared` is what waiting for a
    CPU may have done to the figure, if it is a wall time: repeated runs show that in their scatter, so it fades with
    their number.
    `layout` is the same in all runs of a side, so that no number of them shows or lessens it; `drift` is how much the
    machine's speed seems to differ between the sides, which the figure follows in a way that is not known.
    """
    value = mean_of(after) - mean_of(before)
    repeated = len(before) + len(after) - 2
    inner = [(figure.variance, figure.freedom, len(side)) for side in (before, after) for figure in side]
    if repeated < 2 and any(variance is None for variance, _, _ in inner):
        return Change(value)
    seen = sum(figure.luck**2 for figure in (*before, *after)) / (len(before) + len(after))
    within = within_runs(before, after)
    per_run = 1 / len(before) + 1 / len(after)
    between = (_scatter(before) + _scatter(after)) / repeated if repeated else 0.0
    share = trusted(between, max(luck**2, seen) + within, repeated)
    parts: list[tuple[float, float]] = [
        (share * between * per_run, repeated),
        ((1 - share) * max(luck**2, seen) * per_run, BELIEF),
    ]
    parts += [(shared**2 / (1 + repeated) * per_run, BELIEF), (2 * layout**2, BELIEF), (drift**2, BELIEF)]
    parts += [(estimated(before, after), BELIEF)]
    parts += [((1 - share) * (variance or 0.0) / runs**2, freedom) for variance, freedom, runs in inner]
    whole = sum(part for part, _ in parts)
    freedom = whole**2 / sum(part**2 / known for part, known in parts if part)
    return Change(value, math.sqrt(whole), freedom)


def within_runs(before: Sequence[Figure], after: Sequence[Figure]) -> float:
    """Variance of a run's figure by its own blocks: the mean over all runs. What it is not known of has none."""
    return sum(figure.variance or 0.0 for figure in (*before, *after)) / (len(before) + len(after))


def estimated(before: Sequence[Figure], after: Sequence[Figure]) -> float:
    """Variance by what was taken off; no number of runs lessens it."""
    return sum(max(figure.estimated for figure in side) ** 2 for side in (before, after))


def trusted(scatter: float, assumed: float, repeated: int, belief: float = BELIEF) -> float:
    """How much the runs' own scatter counts beside what their blocks show and is assumed of an undisturbed machine.

    All, if it is larger: machines are disturbed by any amount, so that the assumption must not lessen it. Where it is
    smaller than the blocks of each run say (`assumed` holds both), a few runs came close to each other by chance.
    """
    return 1.0 if repeated and scatter > assumed else repeated / (belief + repeated)


def mean_of(side: Sequence[Figure]) -> float:
    return sum(figure.value for figure in side) / len(side)


def _scatter(side: Sequence[Figure]) -> float:
    return sum((figure.value - mean_of(side)) ** 2 for figure in side)


def holm(probabilities: Sequence[float], weights: Sequence[float], alarm: float) -> list[bool]:
    """Which of several differences are real, with probability `alarm` at most that any of them is not (Holm, 1979).

    A difference has the part of `alarm` that its weight is of those not yet decided.
    """
    order = sorted(range(len(weights)), key=lambda i: probabilities[i] / weights[i] if weights[i] else math.inf)
    left, real = math.fsum(weights), [False] * len(weights)
    for i in order:
        if not left or probabilities[i] > alarm * weights[i] / left:
            break
        real[i] = True
        left -= weights[i]
    return real
