"""Waits for DataLoaders that are iterated inside some training steps, as an evaluation does: in no other time of a
comparison, since how many of these steps a window holds may be chance. So they are compared per step that has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tb_dataplugin.compare.changes import pair, with_interval
from tb_dataplugin.compare.flames import IN_PICTURE, is_drawn
from tb_dataplugin.compare.noise import LEAST_BLOCKS, Floats, holm
from tb_dataplugin.compare.quantity import TOO_FEW_STEPS, UNTOLD, Judged, Quantity, judge_change
from tb_dataplugin.compare.ratio import PartFigure, Ratio, part_figure, part_mean
from tb_dataplugin.compare.sides import Run
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.report import report_pb2 as pb
from tb_dataplugin.units import count, duration, in_unit, listed, plural, unit_for

ALARM: Final = 0.03
"""Probability that the wait for any of them is called more or less between equal sides; as of parts of the time."""

MUCH: Final = 0.02
"""Share of a side's windows from which what isn't compared for certain is said."""

UNANNOTATED: Final = "not annotated"

PER: Final = "training step that iterates it"


class _InRun(NamedTuple):
    """Of one run: the wait in each step that has it, empty where that is not known."""

    wait_us: float
    having: int
    steps: int
    whole_us: float
    waits: Floats


@dataclass(frozen=True, slots=True)
class _Side:
    """`runs`: those whose windows have it. `steps`: of all its windows."""

    runs: tuple[_InRun, ...]
    steps: int
    window_us: float

    @property
    def wait_us(self) -> float:
        return math.fsum(run.wait_us for run in self.runs)

    @property
    def having(self) -> int:
        return sum(run.having for run in self.runs)

    @property
    def share(self) -> float:
        return self.wait_us / self.window_us if self.window_us else 0.0

    @property
    def mean_us(self) -> float | None:
        return sum(run.wait_us / run.having for run in self.runs) / len(self.runs) if self.runs else None


@dataclass(frozen=True, slots=True)
class OtherWait:
    """Per step that has it. `sides`: before and after. `is_drawn`: the flame graph has it."""

    quantity: Quantity
    sides: tuple[_Side, _Side]
    is_drawn: bool

    @property
    def name(self) -> str:
        return self.quantity.title

    @property
    def is_uncertain(self) -> bool:
        """Much time that may have changed, for all that is known."""
        return self.quantity.outcome in UNTOLD and max(side.share for side in self.sides) >= MUCH

    @property
    def is_said(self) -> bool:
        return self.quantity.significant or max(side.share for side in self.sides) >= MUCH

    @property
    def text(self) -> str:
        """``waits for the other DataLoader of Pets, left out of all other times: 98.9 → 38.7 ms per ...``"""
        names, known = ("before", "after"), [side for side in self.sides if side.runs]
        graph = IN_PICTURE if self.is_drawn else ""
        begin = f"waits for {self.name}, left out of all other times: "
        places = [
            f"in {count(side.having)} of {plural(side.steps, 'step')} {name}"
            for side, name in zip(self.sides, names, strict=True)
            if side.runs
        ]
        if len(known) < len(self.sides):
            mean, lacking = duration(known[0].mean_us), names[bool(self.sides[0].runs)]
            none = f"{lacking} it has next to none or was not iterated in the windows"
            return f"{begin}{mean} per {PER} ({places[0]}); {none}{graph}"
        each = [side.wait_us / side.steps for side in self.sides]
        unit = unit_for(each)
        spread = f"{in_unit(each[0], unit)} → {in_unit(each[1], unit)} {unit.name} per step over all steps"
        how = f"{pair(self.quantity)} per {PER} ({with_interval(self.quantity)})"
        return f"{begin}{how}; {listed(places)}, which is {spread}{graph}"


def compare_others(before: Sequence[Run], after: Sequence[Run], shared: float) -> tuple[OtherWait, ...]:
    """By the class of their dataset: a program may make such a DataLoader anew each time. Most time first."""
    found = {key: (_side(before, key), _side(after, key)) for key in dict.fromkeys(_keys((*before, *after)))}
    ratios = {key: _ratio(pair_of, shared) for key, pair_of in found.items()}
    tested = [(key, ratio_) for key, ratio_ in ratios.items() if ratio_ is not None]
    sizes = [math.fsum(side.mean_us or 0.0 for side in found[key]) for key, _ in tested]
    real = holm([ratio_.probability for _, ratio_ in tested], sizes, ALARM)
    moved = {key for (key, _), is_real in zip(tested, real, strict=True) if is_real}
    drawn = is_drawn(before, after)
    waits = [OtherWait(_quantity(key, found[key], ratios[key], key in moved), found[key], drawn) for key in found]
    return tuple(sorted(waits, key=lambda one: -max(side.wait_us for side in one.sides)))


_Key = tuple[str, bool]
"""Its dataset's class, and whether it is not annotated."""


def _keys(runs: Sequence[Run]) -> Iterator[_Key]:
    for run in runs:
        for capture in run.captures:
            yield from (_key(other) for other in capture.loader.apart.others if other.steps)


def _key(other: pb.OtherLoader) -> _Key:
    return other.dataset, other.unannotated


def _title(key: _Key) -> str:
    dataset, is_unannotated = key
    if is_unannotated:
        return "DataLoaders that are not annotated"
    return f"the other DataLoader of {dataset}" if dataset else "the other DataLoader"


def _side(runs: Sequence[Run], key: _Key) -> _Side:
    each = [_in_run(run, key) for run in runs]
    window_us = math.fsum(capture.window_us for run in runs for capture in run.captures)
    return _Side(tuple(run for run in each if run.having), sum(run.steps for run in each), window_us)


def _in_run(run: Run, key: _Key) -> _InRun:
    wait_us, having, steps, whole_us, waits = 0.0, 0, 0, 0.0, list[float]()
    is_known = True
    for capture in run.captures:
        steps += capture.steps.count
        alike = [other for other in capture.loader.apart.others if _key(other) == key]
        lasted = {step.number: step.duration_us for step in capture.steps.items}
        numbers = sorted({number for other in alike for number in other.steps})
        wait_us += math.fsum(other.wait_us for other in alike)
        having += len(numbers)
        whole_us += math.fsum(lasted.get(number, 0.0) for number in numbers)
        is_known &= all(len(other.step_wait_us) == len(other.steps) for other in alike)
        in_step = dict.fromkeys(numbers, 0.0)
        for other in alike:
            for number, us in zip(other.steps, other.step_wait_us, strict=False):
                in_step[number] += us
        waits += in_step.values()
    return _InRun(wait_us, having, steps, whole_us, np.array(waits if is_known else [], dtype=np.float64))


def _ratio(sides: tuple[_Side, _Side], shared: float) -> Ratio | None:
    """None where a side has too few such steps to show how they vary."""
    if any(sum(len(run.waits) for run in side.runs) < LEAST_BLOCKS for side in sides):
        return None
    before, after = (part_mean([_figure(run, side) for run in side.runs], shared) for side in sides)
    return Ratio(before, after)


def _figure(run: _InRun, side: _Side) -> PartFigure:
    """Runs with few such steps vary as all of their side do."""
    mean, whole = run.wait_us / run.having, max(run.whole_us, run.wait_us) / run.having
    found = part_figure(mean, whole, run.waits)
    if found.variance is not None:
        return found
    together = np.concatenate([each.waits for each in side.runs])
    return PartFigure(mean, whole, float(together.var(ddof=1)) / run.having, len(together) - 1)


def _quantity(key: _Key, sides: tuple[_Side, _Side], found: Ratio | None, significant: bool) -> Quantity:
    before, after = (side.mean_us for side in sides)
    if before is not None and before == after:
        judged = Judged(None, "identical", "identical")
    elif found is None or before is None or after is None:
        judged = Judged(None, TOO_FEW_STEPS, "unknown")
    else:
        judged = judge_change("other_loader", after - before, found.bounds, significant, same=False)
    changed = after / before - 1 if before and after is not None else None
    return Quantity(
        kind="other_loader",
        name=UNANNOTATED if key[1] else key[0],
        title=_title(key),
        before_us=before,
        after_us=after,
        change=changed,
        interval=judged.interval,
        interval_text=judged.text,
        outcome=judged.outcome,
    )


def evidence_of_others(others: Sequence[OtherWait]) -> tuple[Evidence, ...]:
    changes = ((other, (other.quantity.after_us or 0.0) - (other.quantity.before_us or 0.0)) for other in others)
    return tuple(time("other_loader", us, other.text, whole="step") for other, us in changes if other.is_said)


def but_for(others: Sequence[OtherWait]) -> str:
    """What "no significant difference" is without: of what changed, or may have."""
    named = [other.name for other in others if other.quantity.significant or other.is_uncertain]
    return f" without {listed(named)}" if named else ""


def others_sentence(others: Sequence[OtherWait]) -> str:
    """With a space before it: what changed, or may have; "" where nothing."""
    return "".join(f" {_sentence(other)}" for other in others if other.quantity.significant or other.is_uncertain)


def _sentence(other: OtherWait) -> str:
    """``The wait for the other DataLoader of Pets is not part of that and fell: 98.9 → 38.7 ms per ...``"""
    quantity, begin = other.quantity, f"The wait for {other.name} is not part of that"
    if quantity.before_us is None or quantity.after_us is None:
        return f"{begin}; only the windows {'before' if quantity.after_us is None else 'after'} have it."
    times = f"{pair(quantity)} per {PER}"
    if quantity.significant:
        return f"{begin} and {'rose' if quantity.outcome == 'more' else 'fell'}: {times} ({with_interval(quantity)})."
    return f"{begin}: {times}, {quantity.interval_text}."
