"""What is said of a training thread that takes its batches from a queue which another thread fills."""

from __future__ import annotations

from typing import Final

from tb_dataplugin.analyses.queue_wait import OwnWork
from tb_dataplugin.findings.callee_advice import waits_for_another
from tb_dataplugin.findings.line_signals import interval
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.units import percent

MOSTLY: Final = 0.5


def not_followed(signals: Signals) -> int | None:
    """`Signals.unfollowed_workers`, where the loop's batches are not those of DataLoader workers with records: beside
    these, another DataLoader is none of the loop's.
    """
    return signals.unfollowed_workers if signals.workers is None else None


def another_makes(signals: Signals, call: str) -> str:
    """Advice on code around the loader that waits in `call` for another thread or process; "" where it does not."""
    return waits_for_another(call, not_followed(signals), is_followed=signals.workers is not None)


def waits_for_queue(signals: Signals) -> bool:
    """Enough to be worth a change, and no chance."""
    return signals.queue_wait is not None and signals.queue_wait.part.low >= INPUT_BOUND


def works_itself(signals: Signals) -> OwnWork | None:
    """Of the thread that fills the queue, where that is certainly most of what the training thread waits for."""
    filler = None if signals.queue_wait is None else signals.queue_wait.filler
    return filler if filler is not None and filler.part.low >= MOSTLY else None


def filling_stages(signals: Signals) -> tuple[StageCalls, ...]:
    """The calls of the stage with most self time: what the thread that fills the queue waits for, or does itself."""
    times: dict[str, float] = {}
    for row in signals.stages:
        if row.stage.kind != "wait":
            times[row.stage.name] = times.get(row.stage.name, 0.0) + row.self_us
    name = max(times, key=times.__getitem__, default="")
    return tuple(row for row in signals.stages if row.stage.name == name)


def fed_sentence(signals: Signals) -> str:
    """For the verdict: why the data wait is unknown, and what samples show; "" where no other thread takes batches."""
    queue = signals.queue_wait
    if not signals.is_fed:
        return ""
    unknown = "Another thread takes the batches from the DataLoader, so the data wait is unknown."
    if queue is None:
        return unknown
    rows = filling_stages(signals)
    stage = f"; {rows[0].stage.name} has the highest self time in it" if rows and waits_for_queue(signals) else ""
    if waits_for_queue(signals) and (own := works_itself(signals)):
        stage = f"; for {percent(own.part.share)} of that time that thread works itself, and waits for no DataLoader"
    return (
        f"{unknown} By stack samples, the training thread waits for that thread's queue at {queue.place.short} for "
        f"{percent(queue.part.share)} of the window ({interval(queue.part)}){stage}."
    )
