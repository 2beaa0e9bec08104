"""What no setting has lifted: data wait that is left, and the stage whose code would have to be faster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_dataplugin.report.report_pb2 import Capture
from tb_dataplugin.tune.model import WhatIf
from tb_dataplugin.tune.search import FREE_OF_WAIT, Outcome, step_of
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif.change import TRANSFER

MUCH: Final = 0.8
"""Step time over that of the best; a setting whose interval reaches below was left open. Without noise none does."""

ONCE_FREE: Final = "More DataLoader workers, once CPUs are free,"


@dataclass(frozen=True, slots=True)
class Remainder:
    """`wait_s`: data wait per step with the best settings. stage, where: "" where that is not known.

    undecided: what may be much faster still, for all that is known; "" for nothing.
    """

    wait_s: float
    share: float
    stage: str
    where: str
    undecided: str = ""

    @property
    def sentence(self) -> str:
        if self.share < FREE_OF_WAIT:
            return "With these settings the loop hardly waits for data: no code of the pipeline has to change."
        rest = f"{duration(self.wait_s * 1e6)} of each step ({percent(self.share)}) are still data wait"
        if not self.stage:
            return f"With these settings {rest}, and no setting tried here helps; a capture's report names the stage."
        place = f" ({self.where})" if self.where else ""
        if self.stage == TRANSFER:
            sending = "sending batches to the training process, which larger batches, or smaller samples, reduce"
            return f"With these settings {rest}: {sending}."
        if self.undecided:
            code = f"in code, {self.stage}{place} would bring most"
            return f"With these settings {rest}. {self.undecided} may still reduce it; {code}."
        return f"With these settings {rest}: that needs code instead, first in {self.stage}{place}."


def remainder_of(outcome: Outcome, model: WhatIf | None, capture: Capture | None) -> Remainder | None:
    """By the model: the stage that brings most where its self time is half as long, with the best settings.

    None where a search was broken off before settings had their chance.
    """
    if outcome.interrupted and not any(row.ratio is not None for row in outcome.rows):
        return None
    share, step = outcome.wait_share, step_of(outcome.windows)
    stage = "" if model is None else model.prediction(outcome.best).limited_by
    stage = "" if stage == "step" else stage
    left_open = undecided(outcome) or (ONCE_FREE if outcome.leaves_crowded else "")
    return Remainder(share * step, share, stage, "" if capture is None else _where(capture, stage), left_open)


def undecided(outcome: Outcome) -> str:
    """The setting that may be fastest of those beside the best that the noise left open; "" for none."""
    open_rows = [
        row
        for row in outcome.rows
        if row.ratio is not None and not row.kept and row.beside == outcome.best and row.ratio.low < MUCH
    ]
    best = min(open_rows, key=lambda row: row.ratio.low if row.ratio is not None else 1.0, default=None)
    return "" if best is None else best.changes.text


def _where(capture: Capture, stage: str) -> str:
    """The stage's hottest line or lines, else where it is defined; "" when unknown."""
    for part in capture.lines.stages:
        if part.name == stage and part.hottest:
            return part.hottest[0].place
    places = [one.defined_at for one in capture.stages if f"{one.kind}::{one.label}" == stage and one.defined_at]
    return places[0] if places else ""
