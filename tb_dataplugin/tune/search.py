"""The search: one change of the best after the other, measured beside it, and kept where it beats it for certain."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tb_dataplugin.tune.alternating import Beside, measure_beside
from tb_dataplugin.tune.guarding import Free, free_now, refusal
from tb_dataplugin.tune.pairs import Ratio
from tb_dataplugin.tune.proposing import Proposal, Tried, leaves_crowded, next_proposal
from tb_dataplugin.tune.repeating import seen_to_repeat
from tb_dataplugin.tune.running import CannotRun, Facts, Forecast, Limits, Loop, Model, Runner, Window
from tb_dataplugin.tune.setting import WORKERS, Changes, in_effect, number_of
from tb_dataplugin.units import change, duration, interval, plural

FREE_OF_WAIT: Final = 0.02
"""Share of data wait below which no loader can bring more."""

NOTHING_LEFT: Final = "no further setting is promising"
MEASURE_AGAIN: Final = "if other programs use the CPUs, measure again when they are done"
CROWDED: Final = f"{NOTHING_LEFT} while no CPU is free; {MEASURE_AGAIN}"

IN_VAIN: Final = 3
"""Changes in a row that brought nothing, after which the search ends."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the ledger: a setting, and what became of it. `step_s`: its step time in seconds, as measured;
    `beside_step_s`: that of the other, in the windows by turns.
    """

    changes: Changes
    beside: Changes
    forecast: Forecast | None
    ratio: Ratio | None
    step_s: float | None
    kept: bool
    why: str
    beside_step_s: float | None = None

    @property
    def is_crowded(self) -> bool:
        """Nothing was predicted: no CPU was free for its DataLoader workers."""
        return self.forecast is not None and self.forecast.crowded


@dataclass(slots=True)
class Outcome:
    """What a search has found so far; also what is left of one that was interrupted.

    total       best over the unchanged loop, side by side; None where nothing was kept, or there was no time
    """

    facts: Facts
    limits: Limits
    rows: list[Row] = field(default_factory=list)
    best: Changes = field(default_factory=Changes)
    unchanged: list[Window] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    """Of the best."""
    total: Ratio | None = None
    stopped: str = ""
    interrupted: bool = False

    @property
    def wait_share(self) -> float:
        """Of the best loop's time."""
        return sum(one.wait for one in self.windows) / sum(one.total for one in self.windows)

    @property
    def leaves_crowded(self) -> bool:
        """No CPU was free for more DataLoader workers, which were not tried or not seen to help; on a quieter machine
        they may.
        """
        lost = any(row.is_crowded and row.ratio is not None and not row.kept for row in self.rows)
        return lost or self.stopped == CROWDED


def step_of(windows: Sequence[Window]) -> float:
    """Seconds."""
    return sum(one.total for one in windows) / sum(one.batches for one in windows)


class Search:
    """Runs windows until noise, the budget or the user says stop. Its `outcome` is right at any time."""

    def __init__(
        self,
        runner: Runner,
        facts: Facts,
        model: Model | None,
        limits: Limits,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        free: Callable[[], Free] = free_now,
    ) -> None:
        self.outcome = Outcome(facts, limits)
        self._runner, self._model, self._say, self._clock, self._free = runner, model, say, clock, free
        self._end = clock() + 60 * limits.minutes
        self._best: Loop | None = None
        self._largest: Window | None = None
        self._epochs_end = False
        self._broken = ""

    def run(self) -> Outcome:
        """Raises CannotRun where the unchanged loop does not run. An interrupt (Ctrl-C) ends the search."""
        outcome = self.outcome
        try:
            self._best = self._runner.start(Changes())
            self._window(self._best)  # fills the page cache, and is not counted
            self._end = self._clock() + 60 * outcome.limits.minutes
            outcome.unchanged.append(self._window(self._best))
            outcome.windows = list(outcome.unchanged)
            outcome.stopped = self._try_all()
            self._confirm()
        except KeyboardInterrupt:
            outcome.interrupted, outcome.stopped = True, "interrupted"
        finally:
            if self._best is not None:
                self._best.close()
        return outcome

    def _try_all(self) -> str:
        """Why the search ended."""
        outcome, facts, limits = self.outcome, self.outcome.facts, self.outcome.limits
        tried: list[Tried] = []
        while True:
            reason = self._reason_to_stop(tried)
            if reason:
                return reason
            asked = (facts, outcome.best, tried, self._model, self._epochs_end, limits.tried)
            proposal = next_proposal(*asked, limits.pairs)
            if proposal is None:
                return CROWDED if leaves_crowded(*asked) else NOTHING_LEFT
            row = self._try(proposal)
            outcome.rows.append(row)
            tried.append(Tried(row.changes, row.beside, row.ratio, row.kept))

    def _reason_to_stop(self, tried: Sequence[Tried]) -> str:
        measured = [one for one in tried if one.ratio is not None]
        if self._broken:
            return self._broken
        if self.outcome.wait_share < FREE_OF_WAIT:
            return "the loop hardly waits for data any longer: the training step limits"
        if len(measured) + 1 >= self.outcome.limits.runs:
            return f"{plural(self.outcome.limits.runs, 'run')} were made (--runs)"
        if self._clock() >= self._end:
            return f"{self.outcome.limits.minutes:g} min are over (--minutes)"
        if len(tried) >= IN_VAIN and all(one.ratio is None for one in tried[-IN_VAIN:]):
            return f"the last {IN_VAIN} settings could not be measured"
        if len(measured) >= IN_VAIN and not any(one.kept for one in measured[-IN_VAIN:]):
            return f"the last {IN_VAIN} changes brought nothing beyond the noise"
        return ""

    def _try(self, proposal: Proposal) -> Row:
        outcome, changes = self.outcome, proposal.changes
        beside = outcome.best
        refused = refusal(changes, outcome.facts, self._largest, self._free())
        if refused:
            return Row(changes, beside, proposal.forecast, None, None, False, f"not tried: {refused}")
        loop: Loop | None = None
        try:
            loop = self._runner.start(changes)
            first = self._window(loop)
            again = self._again(changes, [first])
            if again:
                loop.close()
                return self._without_gain(proposal, [first], again)
            pairs = self._pairs(self._best_loop, loop, changes, beside)
        except (CannotRun, KeyboardInterrupt) as error:
            if loop is not None:
                loop.close()
            if isinstance(error, KeyboardInterrupt):
                raise
            self._check_best()
            return Row(changes, beside, proposal.forecast, None, None, False, f"does not run: {error}")
        ratio = pairs.ratio
        if not beside:
            outcome.unchanged += pairs.before
        again = self._again(changes, pairs.after, pairs.before)
        if again:
            loop.close()
            outcome.windows += pairs.before
            return self._without_gain(proposal, pairs.after, again)
        if ratio.is_faster:
            self._best_loop.close()
            self._best, outcome.best, outcome.windows = loop, changes, list(pairs.after)
        else:
            loop.close()
            outcome.windows += pairs.before
        self._say(f"{changes.text}: {_in_words(ratio)}; {'kept' if ratio.is_faster else 'not kept'}")
        step_s, beside_step_s = step_of(pairs.after), step_of(pairs.before)
        return Row(changes, beside, proposal.forecast, ratio, step_s, ratio.is_faster, _why(ratio), beside_step_s)

    def _again(self, changes: Changes, after: Sequence[Window], before: Sequence[Window] = ()) -> str:
        """Why what it delivers is the same again; "" where it is not, or has no more DataLoader workers."""
        made = self.outcome.facts.made
        now, then = (number_of(in_effect(side, made), WORKERS) for side in (self.outcome.best, changes))
        return seen_to_repeat([*self.outcome.windows, *before], after, then - now) if then > now else ""

    def _without_gain(self, proposal: Proposal, windows: Sequence[Window], why: str) -> Row:
        """Its steps may be faster, and its epochs are longer."""
        changes, best = proposal.changes, self.outcome.best
        self._say(f"{changes.text}: not kept: {why}")
        return Row(changes, best, proposal.forecast, None, step_of(windows), False, f"not kept: {why}")

    def _check_best(self) -> None:
        """Whose fault it was that a window failed."""
        try:
            self._best_loop.window()
        except CannotRun as error:
            self._broken = f"the best loop no longer runs: {error}"

    @property
    def _best_loop(self) -> Loop:
        assert self._best is not None
        return self._best

    def _pairs(self, best: Loop, other: Loop, changes: Changes, beside: Changes) -> Beside:
        """Windows of both, until they decide."""
        made, most = self.outcome.facts.made, self.outcome.limits.pairs
        return measure_beside(
            best,
            other,
            most=most,
            in_process=any(not number_of(in_effect(side, made), WORKERS) for side in (changes, beside)),
            window=self._window,
            is_late=lambda: self._clock() >= self._end,
            say=lambda number: self._say(self._progress(changes, number, most)),
        )

    def _progress(self, changes: Changes, number: int, most: int) -> str:
        made = sum(row.ratio is not None for row in self.outcome.rows)
        left = max(0.0, self._end - self._clock())
        most_runs = self.outcome.limits.runs
        run = f"run {made + 2} of at most {most_runs}" if made + 2 <= most_runs else "beside the unchanged loop"
        return f"{run}: {changes.text}, pair {number + 1} of at most {most}; at most {duration(left * 1e6)} left"

    def _window(self, loop: Loop) -> Window:
        window = loop.window()
        self._epochs_end = self._epochs_end or window.epochs > 0
        if self._largest is None or window.worker_bytes >= self._largest.worker_bytes:
            self._largest = window
        return window

    def _confirm(self) -> None:
        """The best beside the unchanged loop: of several changes that were kept, each may have been lucky."""
        outcome = self.outcome
        kept = [row for row in outcome.rows if row.kept]
        if len(kept) == 1:
            outcome.total = kept[0].ratio
        if len(kept) < 2 or self._clock() >= self._end:
            return
        first = self._runner.start(Changes())
        try:
            self._window(first)
            pairs = self._pairs(first, self._best_loop, outcome.best, Changes())
        except CannotRun:
            return
        finally:
            first.close()
        outcome.unchanged, outcome.windows, outcome.total = list(pairs.before), list(pairs.after), pairs.ratio


def _in_words(ratio: Ratio) -> str:
    return f"step {change(ratio.value - 1)} (95% interval {interval(ratio.low - 1, ratio.high - 1)})"


def _why(ratio: Ratio) -> str:
    if ratio.is_faster:
        return "faster, beyond the noise"
    if ratio.is_slower:
        return "slower"
    return "no difference worth a setting" if ratio.is_same else "within the noise"
