"""Whose step a batch belongs to, where a thread takes from several DataLoaders: its own loader's, or another's.

A loop may take from two loaders in each step (labelled and unlabelled samples): the step then is from one batch of the
leading one to the next, and waits for all of them. Or it evaluates between two steps: such a step is left out. What
comes in most steps is the loop's own, so a step with batches of others is kept until a second one like it has come.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from annotate.whole_run.series import Iterated, Series

_MOST: Final = 2
"""Batches of another loader in a step. Of three in a row, most steps from one to the next are its own: it leads."""


class InSteps:
    """How many batches of other loaders came in the steps of one: in its epoch, and in the one before."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._before: Counter[int] = Counter()
        self._steps_before = 0
        self._first = 1
        """Number of the epoch's first batch."""

    def begin(self, batches: int) -> None:
        """An epoch's first batch is the loader's `batches`-th."""
        self._before, self._counts = self._counts, Counter()
        self._steps_before, self._first = max(0, batches - 1 - self._first), batches

    def add(self, others: int) -> None:
        self._counts[others] += 1

    def how_usual(self, others: int, batches: int) -> Literal["first", "usual", "rare"]:
        """Of a step with so many, which the loader's `batches`-th ends: whether most are so, or would be with another.

        Most of this epoch and the one before, which may be short, or of this one, in which the loop may have changed.
        """
        now, steps = self._counts[others], batches - self._first
        of_both = now + self._before[others]
        if 2 * of_both > self._steps_before + steps:
            return "first" if of_both == 1 else "usual"
        if 2 * now > steps:
            return "first" if now == 1 else "usual"
        return "rare"

    def usual(self, batches: int) -> int:
        """Batches of others in most steps; 0 also where no number is usual."""
        return next((each for each in (*self._counts, *self._before) if self.how_usual(each, batches) == "usual"), 0)


class Taken(NamedTuple):
    """A batch that came to a thread, or the end of an iterator, and what it is as its own loader's; nanoseconds.

    What lies between two batches of a thread, of any loaders, is `span`.
    """

    series: Series
    epoch: int
    batch: int
    """In its epoch; -1: it is the end."""
    size: int
    step: int
    """Since the batch before of its iterator; of an epoch's first one, the wait; 0: it had none."""
    wait: int
    span: int
    other: int
    """Where it is no step."""
    profiled: int
    beside: int
    is_alone: bool
    """The thread took no batch of another iterator since; nor was anything else of ours at work."""
    is_undisturbed: bool
    is_nested: bool
    """It was asked for before the thread had the latest batch, which was made inside of its ``next()``."""

    def count_alone(self) -> None:
        """As of a loader that has its steps for itself."""
        series, tally = self.series, self.series.tally
        if self.batch < 0 and not self.is_alone:
            return  # batches of others came since
        tally.beside_ns += self.beside
        if self.batch < 0:
            tally.other_ns += self.other
            tally.profiled_ns += self.profiled
            return
        if not self.batch and self.is_undisturbed:
            series.settle()
            series.first_came(self.epoch, self.step)
        elif self.step and self.is_alone:
            series.stepped_or_kept(self.epoch, self.batch, self.step, self.wait)
        else:
            tally.unused_steps += 1
            tally.other_ns += self.other
            if not self.is_undisturbed:
                tally.profiled_steps += 1
                tally.profiled_samples += self.size
                tally.profiled_ns += self.profiled

    def count_joined(self, leading: Series) -> None:
        """In a step of another loader's."""
        if not self.batch:
            self.count_alone()
        elif self.batch > 0:
            self.series.tally.joined += 1
            self.series.tally.joined_ns += self.wait
            leading.tally.beside_ns += self.beside


class _Step(NamedTuple):
    """One that others came in."""

    others: list[Taken]
    batches: int
    """Of those."""
    end: Taken
    """The batch that ends it."""

    def count_alone(self) -> None:
        for each in (*self.others, self.end):
            each.count_alone()

    def count_together(self) -> None:
        """As a step of the leading loader. First batches of others' epochs are summed separately, as its own are."""
        end, series, tally, waits, firsts = self.end, self.end.series, self.end.series.tally, 0, 0
        for each in self.others:
            each.count_joined(series)
            if each.batch > 0:
                waits += each.wait
            elif not each.batch:
                firsts += each.step
        tally.others_wait_ns += waits
        tally.beside_ns += end.beside
        series.stepped_or_kept(end.epoch, end.batch, end.step - firsts, end.wait + waits)


class ThreadSteps:
    """Of one thread."""

    def __init__(self) -> None:
        self._lead: Iterated | None = None
        """The iterator whose batches the steps are between."""
        self._others: list[tuple[Iterated, Taken]] = []
        """Since its latest batch."""
        self._kept: _Step | None = None
        """The first one of its kind."""

    def leads_alone(self, iterator: Iterated) -> bool:
        """Whether the step that begins is its own, for all that is known."""
        return self._lead is iterator and not self._others and self._kept is None

    def is_led_by(self, iterator: Iterated) -> bool:
        return self._lead is iterator

    def came(self, iterator: Iterated, taken: Taken) -> None:
        """In the order in which they came to the thread."""
        if self._lead is not None and self._lead is not iterator:
            is_next = iterator.series is self._lead.series and taken.batch == 0
            if self._lead.is_left or is_next:
                self._leave()
        if self._lead is None:
            self._follow(iterator, taken)
        elif self._lead is not iterator:
            self._others.append((iterator, taken))
            if len(self._others) > _MOST and self._times(iterator) > _MOST:
                self._pass_on(iterator)
        elif taken.batch < 0:
            self._leave(taken)
        else:
            self._end_step(taken)

    def _times(self, iterator: Iterated) -> int:
        """How often it has come since the leading one's latest batch."""
        return sum(other is iterator and each.batch >= 0 for other, each in self._others)

    def conclude(self) -> None:
        """No more batches come."""
        while self._lead is not None:  # another may lead once this one does not, by fewer batches
            self._leave()
        self._let_go()

    def _follow(self, iterator: Iterated, taken: Taken) -> None:
        if self._kept is not None and self._kept.end.series is not iterator.series:
            self._let_go()
        self._lead = iterator if taken.batch >= 0 else None
        taken.count_alone()

    def _let_go(self) -> None:
        """No step like the one that is kept has come."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.count_alone()

    def _end_step(self, end: Taken) -> None:
        series, is_whole, batches = end.series, end.is_undisturbed and not end.is_nested, 0
        others = [each for _, each in self._others]
        for each in others:
            batches += each.batch >= 0
            is_whole = is_whole and each.is_undisturbed and not each.is_nested
        self._others.clear()
        if not batches:
            self._let_go()
            end.count_alone()
            return
        step = _Step(others, batches, end)
        series.in_steps.add(batches)
        usual = series.in_steps.how_usual(batches, series.batches) if is_whole else "rare"
        if usual == "usual" and self._kept is not None and self._kept.batches == batches:
            self._kept.count_together()
            self._kept = None
        if self._kept is not None:
            self._let_go()
        if usual == "first":
            self._kept = step
        elif usual == "usual":
            step.count_together()
        else:
            step.count_alone()

    def _leave(self, end: Taken | None = None) -> None:
        """The leading iterator gives no other batch. Its last step ends with it, and is none of those that are timed.

        Args:
            end: where it was found at its end.
        """
        lead, self._lead = self._lead, None
        others, self._others = self._others, []
        if lead is None:
            return
        goes_on = next((place for place, (each, _) in enumerate(others) if not each.is_left), None)
        if lead.batches == 1 and goes_on is not None:  # it has no step: another one may
            self._begin_with(others, goes_on)
            return
        known = [each for _, each in others]
        batches = sum(each.batch >= 0 for each in known)
        is_joined = 0 < batches <= lead.series.in_steps.usual(lead.series.batches)
        is_joined = is_joined and all(each.is_undisturbed and not each.is_nested for each in known)
        for each in known:
            each.count_joined(lead.series) if is_joined else each.count_alone()
        if is_joined:
            spans = sum(each.span for each in known if each.batch >= 0 or each.is_alone)
            lead.series.tally.other_ns += spans - _firsts(known)
        if end is not None:
            end._replace(is_alone=end.is_alone or is_joined).count_alone()

    def _pass_on(self, iterator: Iterated) -> None:
        """It has come too often for a step of another: its steps are its own, and others may come in them."""
        self._let_go()
        others, self._others = self._others, []
        self._begin_with(others, next(place for place, (each, _) in enumerate(others) if each is iterator))

    def _begin_with(self, others: list[tuple[Iterated, Taken]], first: int) -> None:
        """That one leads."""
        for _, taken in others[:first]:
            taken.count_alone()
        self._lead = None
        self._follow(*others[first])
        for iterator, taken in others[first + 1 :]:
            self.came(iterator, taken)


def _firsts(several: list[Taken]) -> int:
    """What the waits for first batches took."""
    return sum(each.step for each in several if not each.batch)
