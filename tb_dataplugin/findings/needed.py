"""What DataLoader workers need for the loop's batches: it gets no shorter, whatever else goes."""

from __future__ import annotations

from tb_dataplugin.findings.apart_signals import built_ahead_us
from tb_dataplugin.findings.limiting import limiting_worker
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.worker_signals import WorkerSignals


def needed_us(signals: Signals, building_us: float, long_run: float) -> float:
    """What a DataLoader worker still needs for the loop's batches without calls that take it `building_us`, the slowest
    of those that differ: the loop gets no shorter. `long_run`: as a multiple of what it spent in the window, which is
    too little at the end of an epoch, when it has nothing left to build. While the loop waits for another DataLoader,
    it builds.
    """
    return max(0.0, needed_with_others_us(signals, building_us, long_run) - built_ahead_us(signals.apart))


def needed_with_others_us(signals: Signals, building_us: float, long_run: float) -> float:
    """The same of the loop and the time in which it waits for other DataLoaders together. What a worker waits for a CPU
    does not count, since one may be free then.
    """
    workers = signals.workers
    if workers is None:
        return 0.0
    delay = (signals.costs.run_delay if signals.costs else None) or 0.0
    are_alike = limiting_worker(signals) is None
    busy = building_share(workers, 1.0 if are_alike else workers.skew)
    spared = workers.spared if are_alike else workers.slowest_spared
    whole = signals.loop_us + built_ahead_us(signals.apart)
    building = min(1.0, max(busy * long_run, busy + spared)) * whole
    return max(0.0, building - building_us) * (1 - delay)


def building_share(workers: WorkerSignals, skew: float = 1.0) -> float:
    """Share of the loop in which a DataLoader worker builds batches: that of the largest part, of which others may have
    ended long before it; else each on average, or one that has `skew` as much to do.
    """
    if workers.parts is not None:
        return workers.largest_busy
    return workers.busy * skew * workers.alive / workers.workers


def in_the_long_run(signals: Signals) -> float:
    """What each step needs of the workers, as a multiple of what they spent in the window, which may live on stock. At
    the end of an epoch that may be the stock of others than the slowest.
    """
    workers = signals.workers
    if workers is None:
        return 1.0
    if workers.spared and limiting_worker(signals) is not None:
        busy = building_share(workers, workers.skew)
        return 1 + workers.slowest_spared / busy if busy else 1.0
    return max(1.0, workers.taken_per_built)
