"""How long a step may get where DataLoader workers take over code that may take longer there."""

from __future__ import annotations

from dataclasses import dataclass

from tb_dataplugin.whatif.change import Change
from tb_dataplugin.whatif.loop import Loop
from tb_dataplugin.whatif.moved_work import why_longer
from tb_dataplugin.whatif.other_workers import with_other_workers
from tb_dataplugin.whatif.prediction import predict
from tb_dataplugin.whatif.unknown import with_cost


@dataclass(frozen=True, slots=True)
class Longer:
    why: str
    """As a sentence goes on."""
    up_to_us: float
    """The upper end of the prediction, per step."""


def longer_in_workers_us(loop: Loop, change: Change) -> Longer | None:
    """None where nothing of it is known to take longer. Raises BadRequest as `predict` does."""
    if not change.workers or loop.settings.workers:
        return None
    new, _ = with_other_workers(with_cost(loop, change, None), loop)
    why = why_longer(new, loop)
    return Longer(why, predict(loop, change).step_us.high) if why else None
