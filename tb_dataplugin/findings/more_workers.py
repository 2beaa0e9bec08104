"""What more DataLoader workers save at most, by what a capture says of those that there are."""

from __future__ import annotations

from tb_dataplugin.findings.apart_signals import built_ahead_us
from tb_dataplugin.findings.signals import Signals


def faster_with(signals: Signals, wanted: int, workers: int) -> float:
    """How many times as many batches they build, were nothing shared but a lock."""
    return wanted / workers if signals.shared_lock is None else signals.shared_lock.faster_with(wanted)


def most_with(signals: Signals, faster: float) -> float | None:
    """Per step, at most: what data wait costs, and steps come no faster than batches that are built so many times as
    fast. Time in which workers build nothing now (one is late, and the others wait for it; an epoch is over) is no
    reserve: more of them have it as well.
    """
    if signals.wait_cost_us is None or signals.data_wait_us is None:
        return None
    ahead = built_ahead_us(signals.apart)
    fastest = max(0.0, (signals.loop_us + ahead) / faster - ahead)
    return signals.per_step(min(signals.wait_cost_us, signals.loop_us - fastest))
