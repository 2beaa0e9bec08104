"""The model of `whatif`, fitted to a capture of the unchanged loop, as a search asks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tb_dataplugin.tune.running import Forecast
from tb_dataplugin.tune.setting import IN_ORDER, PREFETCH, WORKERS, Changes, Value, in_effect, number_of
from tb_dataplugin.whatif import Change, Prediction, predict
from tb_dataplugin.whatif.change import MOST_PREFETCH, MOST_WORKERS
from tb_dataplugin.whatif.loop import Loop

KNOWN: Final = (WORKERS, PREFETCH, IN_ORDER)
"""Settings that it can say something of."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """See `running.Model`. `made`: the settings of the loop that was captured."""

    loop: Loop
    made: Mapping[str, Value]
    _predictions: dict[Change, Prediction] = field(default_factory=dict)

    def forecast(self, changes: Changes, beside: Changes) -> Forecast | None:
        new, old = changes.as_dict(), beside.as_dict()
        differ = {name for name in {*new, *old} if new.get(name) != old.get(name)}
        if not differ.intersection(KNOWN):
            return None
        made, before = self.prediction(changes), self.prediction(beside).step_us.value
        after = made.step_us
        least = 1.0 if made.crowded else 0.0  # a gain that other programs would pay for is none
        return Forecast(max(least, after.value / before), after.low / before, after.high / before, made.crowded)

    def prediction(self, changes: Changes) -> Prediction:
        """Of the loop with these settings; those that it does not know are left out."""
        settings = in_effect(changes, self.made)
        workers = min(number_of(settings, WORKERS), MOST_WORKERS)
        prefetch = min(number_of(settings, PREFETCH), MOST_PREFETCH) or None
        in_order = settings.get(IN_ORDER)
        change = Change(workers, prefetch if workers else None, in_order if isinstance(in_order, bool) else None)
        if change not in self._predictions:
            self._predictions[change] = predict(self.loop, change)
        return self._predictions[change]
