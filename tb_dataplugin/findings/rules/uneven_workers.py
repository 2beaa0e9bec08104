"""One worker works much longer than the others: by chance, for what it is, or for the part of the data that it has.

Batches are taken from the workers in turn, so that the slowest sets the pace. Each worker of an iterable dataset has to
deliver its own part: taking batches as they come only puts the wait off. Where one part has more batches than the
others, its worker is alone at the end of each epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

from tb_dataplugin.analyses.undivided import find_undivided
from tb_dataplugin.findings.evidence import Evidence, number, share
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.foresight import Promise
from tb_dataplugin.findings.limiting import expects_gain
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import LEAST_BATCHES, UNEVEN
from tb_dataplugin.findings.worker_signals import PaceSignals, PartsSignals, WorkerSignals
from tb_dataplugin.units import percent, plural, ratio, significant
from tb_dataplugin.whatif import Change

IN_TURN = "Batches are taken from the DataLoader workers in turn, so one slow worker holds back all."
UNORDERED = Change(in_order=False)
EVENLY = Change(even=True)


@rule(title="Uneven DataLoader workers", about="delivery", input_bound=True, workers=True)
def check(signals: Signals) -> Finding | Abstention | None:
    workers, loader = signals.workers, signals.loader
    if workers is None or signals.wait_cost_us is None:
        return None
    if workers.parts is not None and workers.parts.is_uneven:
        return _large_part(signals, workers.parts, loader.dataset if loader is not None else "")
    if workers.workers < 2 or workers.skew < UNEVEN:
        return None
    if loader is not None and loader.in_order is False:
        return None  # nobody waits for a worker's turn
    if workers.batches < LEAST_BATCHES:
        return Abstention(
            f"Each DataLoader worker finished {significant(workers.batches, 1)} batches in the window on average, too "
            "few to distinguish a slow worker from a slow batch."
        )
    pace = workers.pace if workers.pace is not None and workers.pace.is_uneven else None
    if pace is not None and loader is not None and loader.iterable and find_undivided(loader) is None:
        return _slow_part(signals, workers, pace, loader.dataset or "the dataset")
    return _slow_worker(signals, workers, pace)


def _large_part(signals: Signals, parts: PartsSignals, dataset: str) -> Finding | None:
    """Of an iterable dataset: its DataLoader worker goes on while others are at the end of theirs."""
    most = signals.loop_us * (1 - 1 / parts.to_mean)
    promise = signals.promise(EVENLY, signals.per_step(min(signals.wait_cost_us or 0.0, most)))
    if promise.without_gain or expects_gain(signals, EVENLY) is False:
        return None
    last = "The last batches of an epoch come from those that are left."
    piece = "" if parts.epochs else " It is for this window: in other steps of an epoch, all of them may deliver."
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=signals.wait_cost_us),
        title=f"Parts of unequal size: {parts.text}",
        advice=f"Each DataLoader worker reads its own part of {dataset or 'the dataset'}, and one that is at the end "
        f"of it builds nothing until the next epoch. {last} Divide the data so that every worker has as many "
        "batches: by samples in place of files or shards, or into many more parts than workers. prefetch_factor and "
        "in_order leave the largest part as it is, and so do more DataLoader workers unless each then gets less of it.",
        evidence=(
            share("largest_part", parts.mine / parts.batches, "batches", parts.text),
            number(
                "largest_part_work", parts.to_mean, "ratio", f"it builds {ratio(parts.to_mean)} as long as the mean"
            ),
            *_without(parts),
            *promise.why,
        ),
        gain_us_per_step=promise.us_per_step,
        confidence="likely",
        confidence_reason="Which DataLoader worker delivered each batch is recorded. The gain takes for granted that "
        f"the data can be divided evenly, and that a batch then takes as long to build as before.{piece}",
    )


def _without(parts: PartsSignals) -> Iterator[Evidence]:
    """DataLoader workers with nothing of these epochs."""
    if parts.without:
        they, were = ("it", "was") if parts.without == 1 else ("they", "were")
        why = f"{they} had no part" if parts.epochs else f"{they} {were} at the end before, or had no part"
        text = f"{parts.without} of {plural(parts.workers, 'DataLoader worker')} delivered nothing: {why}"
        yield number("without_batches", parts.without, "count", text)


def _slow_part(signals: Signals, workers: WorkerSignals, pace: PaceSignals, dataset: str) -> Finding | None:
    """Of an iterable dataset whose workers have parts of their own."""
    promise = signals.promise(EVENLY, _most(signals, workers, pace))
    if promise.without_gain or expects_gain(signals, EVENLY) is False:
        return None
    more = ""
    if signals.num_workers and expects_gain(signals, Change(workers=2 * signals.num_workers)):
        more = (
            " More DataLoader workers help too, as long as there is a part for each: the turn of the slow ones comes "
            "less often."
        )
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=signals.wait_cost_us),
        title=pace.text,
        advice=f"{IN_TURN} Each reads its own part of {dataset}: divide the data so that every worker has as much "
        f"work, by what samples take and not by their number, or into many more parts than workers, shuffled.{more} "
        "in_order=False would not help: the batches of quick parts come first, and the wait for the slow ones later.",
        evidence=(*_evidence(workers), *promise.why),
        gain_us_per_step=promise.us_per_step,
        confidence="likely",
        confidence_reason="The build times are measured. The gain takes for granted that the work can be divided "
        "evenly, and that the parts stay like those of this window.",
    )


def _slow_worker(signals: Signals, workers: WorkerSignals, pace: PaceSignals | None) -> Finding | None:
    """Any worker may build any batch, or that is not known. `pace`: where it is no chance."""
    most, iterable = _most(signals, workers, pace), bool(signals.loader and signals.loader.iterable)
    expected, promise = expects_gain(signals, UNORDERED), signals.promise(UNORDERED, most)
    unordered = not iterable and not promise.without_gain and expected is not False
    if not unordered:
        if (expected if pace is None else expects_gain(signals, EVENLY)) is False:
            return None
        promise = Promise(most) if pace is None else signals.promise(EVENLY, most)
    if promise.without_gain:
        return None
    title = f"DataLoader worker {workers.slowest} is busy {ratio(workers.skew)} as long as the average"
    order = " With in_order=False the others need not wait for it." if unordered else ""
    reason = "In a short window it may have had the slow samples by chance."
    if pace is not None:
        reason = "Its batches take longer by more than chance; why is not in the capture."
    return Finding(
        severity=severity(signals, promise.us_per_step, otherwise_us=signals.wait_cost_us),
        title=title if pace is None else pace.text,
        advice=f"{IN_TURN} Look at its samples and at what else runs on its CPU.{order}",
        evidence=(*_evidence(workers), *promise.why),
        gain_us_per_step=promise.us_per_step,
        code="DataLoader(..., in_order=False)  # torch 2.6 or later" if unordered else "",
        change=UNORDERED if unordered else None,
        confidence="likely",
        confidence_reason=reason,
    )


def _most(signals: Signals, workers: WorkerSignals, pace: PaceSignals | None) -> float | None:
    """Per step, did all of them need the mean: of a loop that goes at the pace of the slowest."""
    if pace is not None:
        most = signals.loop_us * (1 - pace.mean_us / pace.slowest_us)
    else:
        most = workers.busy * signals.own_window_us * (workers.skew - 1)
    return signals.per_step(min(signals.wait_cost_us or 0.0, most))


def _evidence(workers: WorkerSignals) -> tuple[Evidence, ...]:
    busy = f"the DataLoader workers are busy for {percent(workers.busy)} {workers.of_whole} on average"
    return (
        number("worker_skew", workers.skew, "ratio", f"{ratio(workers.skew)} the mean busy time"),
        share("workers_busy", workers.busy, workers.whole, busy),
    )
