"""By how much the data wait would shrink at most, were a part of the pipeline not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tb_dataplugin.findings.at_starts import saved_at_starts, starts_evidence
from tb_dataplugin.findings.built_beside import needed_beside_us
from tb_dataplugin.findings.capacity import full_cpus, judge_cpus
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.limiting import limiting_worker
from tb_dataplugin.findings.needed import building_share, in_the_long_run, needed_us
from tb_dataplugin.findings.recorded_part import recorded_share, recording
from tb_dataplugin.findings.sample_signals import BuiltBatch
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls, StageWait
from tb_dataplugin.findings.thresholds import INPUT_BOUND
from tb_dataplugin.findings.worker_signals import WorkerSignals
from tb_dataplugin.units import duration, percent
from tb_dataplugin.whatif.change import TRANSFER, Change
from tb_dataplugin.words import GAIN_BOUND

OF_STEP: Final = f"{GAIN_BOUND}_of_step"
"""The same, where a part of the gain is that of the step itself: an estimate, not data wait that was measured."""

MOSTLY_STARVED: Final = 0.5
"""Share of their lifetime in which workers have no index, from which they would be ahead of a faster loop."""

WORTH_SAYING: Final = 0.01
"""Share of the step that it would gain of its own, below which that is not counted: less than steps differ by."""

IN_TRAINING_THREAD: Final = frozenset(("sampler", "wrapper"))
"""Kinds of stages that run in the training thread, whatever the number of DataLoader workers."""


@dataclass(frozen=True, slots=True)
class Saving:
    """`us`: of the window, at most. `why`: evidence, where that is not the data wait that it caused. `of_step_us`: the
    part that is no data wait, but of the step itself.
    """

    us: float
    why: tuple[Evidence, ...] = ()
    of_step_us: float = 0.0

    @property
    def of_wait_us(self) -> float:
        return self.us - self.of_step_us


SPINNING: Final = (
    "main threads may spin while hidden threads have no CPU, which counts as running: how much of that, and so of the "
    "data wait, goes is not known before it is tried"
)

IN_STEP: Final = "calls_in_step"
"""Evidence: calls of the same stages that the training step makes for itself, which are no part of a bound."""


def saved_without(signals: Signals, calls: Iterable[StageCalls], least_us: float = 0.0, part: float = 1.0) -> Saving:
    """Without these calls, and which calls of their stages that leaves. What they caused at the starts of epochs goes
    as well, where these come again and again: that is no part of the loop that its limits are about.
    """
    rows = list(calls)
    saving = _saved_without(signals, rows, least_us, part)
    at_starts = saved_at_starts(signals, rows, part * (1 - recorded_share(rows)))
    per_step = [signals.per_step(us) or 0.0 for us in (saving.us, saving.us + at_starts)]
    of_starts = tuple(starts_evidence(signals, at_starts)) if len(set(map(duration, per_step))) > 1 else ()
    us = saving.us + at_starts if of_starts else saving.us
    return replace(saving, us=us, why=(*of_starts, *saving.why, *_left_in_step(signals, rows)))


def _left_in_step(signals: Signals, rows: Sequence[StageCalls]) -> tuple[Evidence, ...]:
    names = [name for name in dict.fromkeys(row.stage.name for row in rows) if signals.in_step_us(name)]
    us = sum(map(signals.in_step_us, names))
    each = signals.per_step(us)
    if each is None or us < WORTH_SAYING * signals.loop_us:
        return ()
    text = f"calls of {' and '.join(names)} in the training step take another {duration(each)} per step"
    return (time(IN_STEP, each, f"{text}, which is no part of the gain", whole="step", stage=names[0]),)


def _saved_without(signals: Signals, rows: Sequence[StageCalls], least_us: float, part: float) -> Saving:
    """The wait that they caused would go. Workers build batches also while nobody waits: without
    these calls every batch is finished earlier by what they take of one worker's time. No more than all can go, and
    the loop gets no shorter than what a worker still needs for its batches. Where
    the training step waits for CPUs that the workers have, it gets what they leave free (`given_back_us`). Calls in the
    training thread make no worker faster (`until_workers_limit`): they save what they caused, beside the others.

    Args:
        least_us: what they cost where they have no rows: all calls began before the window.
        part: how much of each call goes.
    """
    caused = part * max(least_us, signals.cost_of(rows))
    recorded = recorded_share(rows)
    part, caused = part * (1 - recorded), caused * (1 - recorded)
    record = recording(signals, rows, caused)
    if not signals.builds_batches_in_workers or not signals.num_workers or signals.wait_cost_us is None:
        return Saving(caused, record)
    if rows and all(map(_is_in_thread, rows)):
        saving = _with_way(signals, until_workers_limit(signals, caused))
        saving = replace(saving, why=(*saving.why, *record))
        foreseen = _foreseen(signals, _shorter(rows, 1 - part), saving.us, signals.wait_cost_us)
        return Saving(foreseen.ratio * saving.us, (*saving.why, *foreseen.why))
    building = part * _of_one_worker(signals, rows) * in_the_long_run(signals)
    in_thread = min(caused, part * signals.cost_in_thread(rows))
    of_calls = in_thread + max(caused - in_thread, building)
    asked = _asked(signals, caused, signals.wait_cost_us)
    saved, given_back = min(asked, of_calls), part * given_back_us(signals, rows)
    most = max(caused, signals.loop_us - needed_us(signals, building, in_the_long_run(signals)))
    given_back = max(0.0, min(given_back, most - saved))
    given_back = given_back if given_back >= WORTH_SAYING * signals.loop_us else 0.0
    saved = min(saved, most)
    foreseen = _foreseen(signals, _shorter(rows, 1 - part), saved + given_back, asked + _most_of_step_us(signals))
    saved, given_back = _divided(signals, foreseen.ratio, saved, given_back)
    record = recording(signals, rows, saved, signals.wait_cost_us)
    if duration(saved + given_back) == duration(caused):
        return Saving(caused, record)
    given_back = given_back if duration(saved + given_back) != duration(saved) else 0.0
    frees = building if duration(saved) != duration(caused) and saved <= of_calls else 0.0
    why = (_derivation(signals, saved, building, frees, given_back, in_thread), *foreseen.why, *record)
    return Saving(saved + given_back, why, given_back)


def _asked(signals: Signals, caused_us: float, cost_us: float) -> float:
    """Of the data wait, what such a saving can be of: that of the DataLoader with workers; where others are drawn from
    as well (zipped, by turns), at least what the calls caused: they may be another one's.
    """
    return min(cost_us, max(0.0, caused_us, cost_us - signals.drawn_us))


def _of_one_worker(signals: Signals, rows: Iterable[StageCalls]) -> float:
    """What these calls take of a DataLoader worker's time: of the one that all wait for, else of each on average."""
    if limiting_worker(signals) is not None:
        return sum(row.in_slowest_us for row in rows)
    return sum(row.in_workers_us for row in rows) / (signals.num_workers or 1)


def _is_in_thread(row: StageCalls) -> bool:
    return row.stage.kind in IN_TRAINING_THREAD or (row.self_us > 0 and not row.in_workers_us)


def _whose(signals: Signals) -> str:
    """Time that is set free."""
    worker, parts = limiting_worker(signals), signals.workers.parts if signals.workers else None
    if worker is not None:
        return f"DataLoader worker {worker}, {'which builds for longest' if parts else 'for which the others wait'}"
    are_alike = signals.workers is None or signals.workers.pace is None
    return "each DataLoader worker" if are_alike else "a DataLoader worker, on average"


def _divided(signals: Signals, ratio: float, saved_us: float, given_back_us: float) -> tuple[float, float]:
    """Of a gain that `whatif` knows better, the data wait and what the step itself gets. What it expects beyond the
    capture's own is the step's, as far as that may get so much, and only then more data wait.
    """
    whole = ratio * (saved_us + given_back_us)
    if ratio <= 1:
        return ratio * saved_us, ratio * given_back_us
    of_step = min(whole - saved_us, _most_of_step_us(signals))
    return whole - of_step, of_step


def _shorter(rows: Iterable[StageCalls], left: float) -> Change:
    """Of these rows only the part `left`."""
    parts = {row.path: 1 - (1 - left) * row.of_calls for row in rows}
    return Change(own=tuple(parts.items()))


@dataclass(frozen=True, slots=True)
class _Foreseen:
    """By how much `whatif` allows more or less than the capture by itself, and what it says then."""

    ratio: float = 1.0
    why: tuple[Evidence, ...] = ()


def _foreseen(signals: Signals, change: Change, saved_us: float, most_us: float) -> _Foreseen:
    """`saved_us`, `most_us`: of the window, what the capture by itself would allow, and what may go at all."""
    by_itself, most = signals.per_step(saved_us), signals.per_step(most_us)
    if signals.foresight is None or not by_itself or not most:
        return _Foreseen()
    promise = signals.foresight.held(change, by_itself)
    us = by_itself if promise.us_per_step is None else min(most, promise.us_per_step)
    return _Foreseen(us / by_itself, promise.why) if us != by_itself else _Foreseen()


def until_workers_limit(signals: Signals, spent_us: float, lent: float = 0.0) -> Saving:
    """Without work that takes the training thread `spent_us`: all of that, but the loop gets no shorter than the
    DataLoader workers need for its batches. What they wait for a CPU does not count, since one may be free then; nor
    does what a window lived on that calls itself steady: a batch more or less is chance there. `lent`: share of what
    they need that would go with that work.
    """
    workers = signals.workers
    if workers is None or not signals.builds_batches_in_workers:
        return _until_threads_limit(signals, spent_us)
    long_run = 1.0 if signals.unsteady is None else in_the_long_run(signals)
    needed = needed_us(signals, 0.0, long_run) * (1 - lent)
    if spent_us <= signals.loop_us - needed:
        return Saving(spent_us)
    share = needed / signals.loop_us
    worker = limiting_worker(signals)
    who = "its DataLoader workers, which need" if worker is None else f"DataLoader worker {worker}, which needs"
    text = f"beyond that the loop waits for {who} {percent(share)} of the step"
    whole_us = signals.per_step(spent_us)
    if whole_us is not None and workers.parts is None and judge_cpus(signals).saturated is False:
        room = "for which CPUs are free" if full_cpus(signals) is None else "which are blocked most of the time"
        text += f"; with more of them as well, {room}, up to {duration(whole_us)} per step"
    return Saving(signals.loop_us - needed, (time(GAIN_BOUND, needed, text, whole="step"),))


def _until_threads_limit(signals: Signals, spent_us: float) -> Saving:
    """The same where other threads of the program build the batches, if any do."""
    needed = needed_beside_us(signals)
    if spent_us <= signals.loop_us - needed or not needed:
        return Saving(spent_us)
    text = f"beyond that the loop waits for what builds its batches, which needs {percent(needed / signals.loop_us)}"
    return Saving(max(0.0, signals.loop_us - needed), (time(GAIN_BOUND, needed, f"{text} of the step", whole="step"),))


def saved_in_batches(signals: Signals, spent_us: Mapping[BuiltBatch, float], most_us: float) -> Saving:
    """Did DataLoader workers not spend that on these batches: what the loop waited for them. Workers build also while
    nobody waits: every batch is finished earlier by what that is of one worker's time. But the loop gets no shorter
    than they still need: where they build all the time, a batch that comes late holds back others, and costs no more.

    Args:
        most_us: data wait that it can have caused.
    """
    spent = sum(spent_us.values())
    waited = sum(min(us, batch.wait_us) for batch, us in spent_us.items())
    workers = (signals.num_workers or 1) if limiting_worker(signals) is None else 1  # all may be the slowest one's
    building = spent / workers * in_the_long_run(signals)
    left = signals.loop_us - needed_us(signals, building, in_the_long_run(signals))
    most_us = min(most_us, max(spent, building))
    saved = max(0.0, min(most_us, max(waited, building), left))
    change = Change(single=tuple(_faster(batch, us) for batch, us in spent_us.items()))
    foreseen = _foreseen(signals, change, saved, most_us)
    us = foreseen.ratio * saved
    return Saving(us, (*_why_in_batches(signals, us, waited, building), *foreseen.why))


def _faster(batch: BuiltBatch, us: float) -> tuple[tuple[int, int], float]:
    return (batch.epoch, batch.number), max(0.0, 1 - us / batch.build_us) if batch.build_us else 1.0


def _why_in_batches(signals: Signals, us: float, waited_us: float, building_us: float) -> tuple[Evidence, ...]:
    """Nothing where it is what was waited for these batches."""
    workers, steps = signals.workers, signals.step_count or 1
    goes, waited, frees = (duration(part / steps) for part in (us, waited_us, building_us))
    if goes == waited or workers is None:
        return ()
    if us <= building_us or goes == frees:
        return (_derivation(signals, us, building_us, building_us, 0.0),)
    per = " per step" if signals.step_count else ""
    spare = f", which builds nothing for {percent(1 - workers.busy)} {workers.of_whole}"
    spare = spare if limiting_worker(signals) is None else ""
    text = f"this frees {frees}{per} of {_whose(signals)}{spare}, so that up to {goes} of data wait{per} can go"
    return (time(GAIN_BOUND, us, text),)


def _with_way(signals: Signals, saving: Saving) -> Saving:
    """Workers that have nothing to do for most of the time would be ahead: their batches would have arrived, too."""
    way, left = signals.in_steady_state(signals.on_way_us), (signals.wait_cost_us or 0.0) - saving.us
    more = min(way, left)
    if signals.workers is None or signals.workers.starved < MOSTLY_STARVED or saving.why or more <= 0.0:
        return saving
    if duration(saving.us + more) == duration(saving.us):
        return saving
    steps, starved = signals.step_count or 0, percent(signals.workers.starved)
    caused, waits = (duration(part / (steps or 1)) for part in (saving.us, more))
    text = (
        f"that is {caused} of data wait{' per step' if steps else ''} that it caused, and {waits} for finished batches "
        f"on their way: DataLoader workers that are starved for {starved} {signals.workers.of_whole} would be ahead"
    )
    return Saving(saving.us + more, (time(GAIN_BOUND, more, text),))


def workers_have_its_cpus(signals: Signals) -> bool:
    """The training step waits for CPUs, and DataLoader workers use some: less of that makes it shorter."""
    return signals.taken is not None and signals.taken.delayed >= INPUT_BOUND and signals.taken.workers_us > 0


def given_back_us(signals: Signals, rows: Iterable[StageCalls]) -> float:
    """By how much the training step itself would be shorter, at most, had it the CPU time of these calls in DataLoader
    workers, and other programs no more of what is set free than a scheduler has to give them. 0 where too little of the
    step waits for a CPU to be sure of it.
    """
    return _returned_us(signals, sum(_cpu_in_workers_us(row) for row in rows))


def _cpu_in_workers_us(row: StageCalls) -> float:
    """At most."""
    return row.in_workers_us if row.cpu_use is None else min(row.in_workers_us, row.cpu_use.cpu_us)


def _returned_us(signals: Signals, used_us: float) -> float:
    """The same for so much CPU time of DataLoader workers."""
    taken = signals.taken
    if taken is None or not workers_have_its_cpus(signals):
        return 0.0
    return taken.returned_us(used_us)


def given_back(signals: Signals, rows: Sequence[StageCalls]) -> Saving:
    """The same without these calls, where no data wait would go: what the step itself gets."""
    us = given_back_us(signals, rows)
    foreseen = _foreseen(signals, _shorter(rows, 0.0), us, signals.loop_us)
    return Saving(foreseen.ratio * us, foreseen.why)


def saved_without_threads(signals: Signals) -> Saving | None:
    """Without hidden threads in DataLoader workers: all of the data wait, and what the step itself gets of the hidden
    threads' CPU time. What the main threads run for is no limit, since a part of that, which is not known, is spinning
    for hidden threads that have no CPU. None where it is not known.
    """
    costs, cost = signals.costs, signals.wait_cost_us
    if costs is None or costs.run_delay is None or signals.workers is None or cost is None:
        return None
    returned = 0.0 if signals.taken is None else _returned_us(signals, costs.hidden * signals.taken.workers_us)
    why = (time(GAIN_BOUND, cost, SPINNING),)
    if returned < WORTH_SAYING * signals.loop_us:
        return Saving(cost, why)
    return Saving(cost + returned, (*why, _derivation(signals, cost, 0.0, 0.0, returned)), returned)


def most_saved_us(signals: Signals) -> float:
    """What all changes together save of the window, at most: the data wait, and what the step itself would get of the
    DataLoader workers' CPU time.
    """
    return (signals.wait_cost_us or 0.0) + _most_of_step_us(signals)


def _most_of_step_us(signals: Signals) -> float:
    return 0.0 if signals.taken is None else signals.taken.saved_us(1.0)


def _derivation(
    signals: Signals, saved: float, building: float, frees: float, given_back: float, in_thread: float = 0.0
) -> Evidence:
    """How the gain comes about, in microseconds of the window, where it is not the data wait that was caused."""
    steps = signals.step_count or 0
    wait, more, left = (duration(part / (steps or 1)) for part in (saved, given_back, building))
    per = " per step" if steps else ""
    is_all = wait == duration((signals.wait_cost_us or 0.0) / (steps or 1))
    own = signals.asked_wait
    goes = f"all of the {own} can go ({wait}{per})" if is_all else f"up to {wait} of {own}{per} can go"
    if frees:
        beside = f", and {duration(in_thread / (steps or 1))}{per} of the training thread" if in_thread else ""
        goes = f"this frees {left}{per} of {_whose(signals)}{beside}, so that {goes}"
    if not given_back:
        return time(GAIN_BOUND, building, goes, whole="DataLoader worker")
    return time(OF_STEP, given_back, f"{goes}, and the step itself gets up to {more}{per} of CPU time back (estimated)")


def saved_on_the_way(signals: Signals, transfer: StageWait, remains_us: float) -> Saving:
    """Were batches there as soon as they are finished: all of the time that they were waited for on their way, of which
    `transfer` has only its share, less `remains_us`. But the workers, which are busy for a part of the window, get no
    faster by it.
    """
    workers, cost = signals.workers, signals.wait_cost_us or transfer.cost_us
    on_way = signals.in_steady_state(signals.on_way_us)
    busy = 1.0 if workers is None else building_share(workers)
    most = min(cost, max(transfer.cost_us, min(on_way, (1 - busy) * signals.loop_us)))
    is_own = workers is None or duration(most) == duration(transfer.cost_us)
    most = min(cost, transfer.cost_us) if is_own else most
    saved = max(0.0, most - remains_us)
    left = 1 - saved / most if most else 1.0
    foreseen = _foreseen(signals, Change(stages=((TRANSFER, left),)), saved, cost)
    if workers is None or is_own:
        limited = until_workers_limit(signals, saved * foreseen.ratio, _held_by_sending(signals))
        return replace(limited, why=(*limited.why, *foreseen.why))
    saved = min(saved * foreseen.ratio, most)
    steps = signals.step_count or 0
    waited, goes = (duration(part / (steps or 1)) for part in (max(on_way, saved), saved))
    text = (
        f"the training thread waits {waited}{' per step' if steps else ''} for finished batches on their way, of which "
        f"{'all' if goes == waited else goes} can go: "
        f"{_who_builds(workers)}"
    )
    return Saving(saved, (time(GAIN_BOUND, saved, text), *foreseen.why))


def _held_by_sending(signals: Signals) -> float:
    """Share of the build time, at most, in which the thread that sends the batch before had Python's lock."""
    costs = signals.costs
    if costs is None or costs.cpu is None or costs.process_cpu is None or costs.blocked is None:
        return 0.0
    return max(0.0, min(1.0, costs.process_cpu - costs.cpu, costs.blocked))


def _who_builds(workers: WorkerSignals) -> str:
    if workers.parts is not None:
        largest = f"DataLoader worker {workers.parts.largest}"
        return f"{largest} builds for {percent(workers.largest_busy)} {workers.of_window}"
    return f"the DataLoader workers are busy for {percent(workers.busy)} {workers.of_whole}"
