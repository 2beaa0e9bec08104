"""By how much the data wait would shrink at most, were a part of the pipeline not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.signals import Signals, StageCalls, StageWait
from tb_dataplugin.units import duration, percent

BOUND = "gain_bound"
"""Evidence of this kind says why a gain is more than the data wait that its cause had."""


@dataclass(frozen=True, slots=True)
class Saving:
    """`us`: of `Signals.wait_cost_us`, at most. `why_more`: evidence, where that is more than what the part caused."""

    us: float
    why_more: tuple[Evidence, ...] = ()


def saved_without(signals: Signals, calls: Iterable[StageCalls], least_us: float = 0.0) -> Saving:
    """Without these calls. The wait that they caused would go. Workers build batches also while nobody waits: without
    these calls every batch is finished earlier by what they take of one worker's time. No more than all can go.

    Args:
        least_us: what they cost where they have no rows: all calls began before the window.
    """
    rows = list(calls)
    caused = max(least_us, signals.cost_of(rows))
    if not signals.builds_batches_in_workers or not signals.num_workers or signals.wait_cost_us is None:
        return Saving(caused)
    building = sum(row.self_us for row in rows) / signals.num_workers
    saved = min(signals.wait_cost_us, max(caused, building))
    if duration(saved) == duration(caused):
        return Saving(caused)
    text = (
        f"takes {duration(building)} of each DataLoader worker's time, also while nobody waits: "
        "so the gain may exceed the data wait that it caused"
    )
    return Saving(saved, (time(BOUND, building, text, whole="DataLoader worker"),))


def saved_on_the_way(signals: Signals, transfer: StageWait) -> Saving:
    """Were batches there as soon as they are finished: all of the time that they were waited for on their way, of which
    `transfer` has only its share. But the workers, which are busy for a part of the window, get no faster by it.
    """
    workers, cost = signals.workers, signals.wait_cost_us or transfer.cost_us
    on_way = signals.in_steady_state(signals.on_way_us)
    busy = 1.0 if workers is None else workers.busy * workers.alive / workers.workers
    saved = min(cost, max(transfer.cost_us, min(on_way, (1 - busy) * signals.loop_us)))
    if workers is None or duration(saved) == duration(transfer.cost_us):
        return Saving(min(cost, transfer.cost_us))
    text = (
        f"finished batches were waited for on their way for {duration(signals.on_way_us)}; of that {duration(saved)} "
        f"may go, since the DataLoader workers are busy for {percent(workers.busy)} {workers.of_whole}"
    )
    return Saving(saved, (time(BOUND, saved, text),))
