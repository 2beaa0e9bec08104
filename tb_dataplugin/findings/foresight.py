"""What `tb-dataplugin whatif` says of a setting that a finding advises: the finding never promises more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tb_dataplugin.analyses.results import Results
from tb_dataplugin.diagnostics import Unavailable
from tb_dataplugin.errors import BadRequest
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.units import duration
from tb_dataplugin.whatif import Change, Prediction, fit_loop, predict
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.words import GAIN_BOUND

WORTH_SAYING: Final = 0.01
"""Part of the step below which a gain is none: steps differ by more."""


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
        """Per step. `most_us`: what the capture by itself would allow."""
        made = self._predicted(change)
        if self._loop is None or made is None or most_us is None:
            return Promise(most_us)
        now_us = self._loop.measured_step_ns / 1e3
        saved_us = now_us - made.least_us
        if saved_us >= most_us:
            return Promise(most_us)
        steps = (
            f"{'no less than' if made.crowded else 'at best'} {duration(made.least_us)} per step with "
            f"{', '.join(_settings(change))}, and it takes {duration(now_us)} now"
        )
        if saved_us < WORTH_SAYING * now_us:
            return Promise(None, without_gain=steps)
        return Promise(saved_us, (time(GAIN_BOUND, made.least_us, f"`tb-dataplugin whatif` predicts {steps}"),))


def _settings(change: Change) -> Iterator[str]:
    """As torch calls them."""
    names = {"num_workers": change.workers, "prefetch_factor": change.prefetch, "in_order": change.in_order}
    return (f"{name}={value}" for name, value in names.items() if value is not None)
