"""What `tb-dataplugin whatif` says of the change that a finding advises: the finding never promises more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif import Change, Prediction, fit_loop, predict, soonest_us
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.words import GAIN_BOUND

WORTH_SAYING: Final = 0.01
"""Part of the step below which a gain is none: steps differ by more."""


ALMOST: Final = 0.02
"""Part of a bound by which it may differ from what the model expects: they count a step's time a little differently."""


@dataclass(frozen=True, slots=True)
class Promise:
    """`us_per_step`: saved, at most; None: not known, or nothing. `why`: evidence, where the model allows less than the
    capture by itself would. `without_gain`: where it allows nothing, how long a step would be, and is.
    """

    us_per_step: float | None
    why: tuple[Evidence, ...] = ()
    without_gain: str = ""


class Foresight:
    """The model is fitted when it is first asked: most captures have no finding about such a setting."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @cached_property
    def _loop(self) -> Loop | None:
        loop = fit_loop(self._results)
        return None if isinstance(loop, Unavailable) else loop

    def _predicted(self, change: Change) -> Prediction | None:
        """None where the model says nothing of that: of the loop, or of so many workers."""
        with suppress(BadRequest):
            return predict(self._loop, change) if self._loop else None
        return None

    def promise(self, change: Change, most_us: float | None) -> Promise:
        """Of a setting, per step. `most_us`: what the capture by itself would allow."""
        made = self._predicted(change)
        if self._loop is None or made is None or most_us is None:
            return Promise(most_us)
        now_us = self._loop.measured_step_ns / 1e3
        saved_us = now_us - made.least_us
        if saved_us >= most_us:
            return Promise(most_us)
        steps = _steps(change, made.least_us, now_us, "no less than" if made.crowded else "at best")
        if saved_us < WORTH_SAYING * now_us:
            return Promise(None, without_gain=steps)
        return Promise(saved_us, (_predicts(made.least_us, steps),))

    def held(self, change: Change, by_itself_us: float) -> Promise:
        """Of less work, per step. `by_itself_us`: what the capture by itself would allow. It stands where it lies
        between what the model expects and the end of its interval.
        """
        change = self._known(change)
        if self._loop is None or change == Change():
            return Promise(by_itself_us)
        with suppress(BadRequest):
            now_us, soonest = self._loop.measured_step_ns / 1e3, soonest_us(self._loop, change)
            expected_us = now_us - soonest.value
            if by_itself_us <= (1 - ALMOST) * expected_us:
                return Promise(expected_us, (_predicts(soonest.value, _steps(change, soonest.value, now_us, "about")),))
            if by_itself_us > now_us - soonest.low:
                return self._at_best(change, by_itself_us, now_us)
        return Promise(by_itself_us)

    def _at_best(self, change: Change, by_itself_us: float, now_us: float) -> Promise:
        least_us = predict(self._loop, change).least_us if self._loop else 0.0
        if now_us - least_us >= by_itself_us:
            return Promise(by_itself_us)
        steps = _steps(change, least_us, now_us, "at best")
        return Promise(max(0.0, now_us - least_us), (_predicts(least_us, steps),))

    def _known(self, change: Change) -> Change:
        """Without stages that no batch of the loop spent time in."""
        parts = () if self._loop is None else (*self._loop.build.parts, *self._loop.receive.parts)
        return replace(change, own=tuple((path, left) for path, left in change.own if path in parts))


def _predicts(step_us: float, steps: str) -> Evidence:
    return time(GAIN_BOUND, step_us, f"`tb-dataplugin whatif` predicts {steps}")


def _steps(change: Change, step_us: float, now_us: float, how: str) -> str:
    return f"{how} {duration(step_us)} per step {', '.join(_changes(change))}, and it takes {duration(now_us)} now"


def _changes(change: Change) -> Iterator[str]:
    """As a sentence goes on; settings as torch calls them."""
    names = {"num_workers": change.workers, "prefetch_factor": change.prefetch, "in_order": change.in_order}
    settings = [f"{name}={value}" for name, value in names.items() if value is not None]
    yield from (f"with {', '.join(settings)}",) if settings else ()
    left = next((factor for _, factor in (*change.own, *change.stages)), None)
    if left is not None:
        yield f"with {percent(left)} of its own time left" if left else "without it"
