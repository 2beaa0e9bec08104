"""A few samples take many times the time of the others, and batches wait for them.

Samples of a slow kind are none of these, where it is a considerable part of all, or comes at even distances: one call
then does the work of several, and nothing is wrong with the sample that it is for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

import numpy as np

from tb_dataplugin.analyses.call_kinds import SLOW
from tb_dataplugin.analyses.code_places import Place
from tb_dataplugin.analyses.hot_lines import ALMOST_ALL
from tb_dataplugin.analyses.items import Item
from tb_dataplugin.analyses.line_waits import WaitedFor
from tb_dataplugin.analyses.throughput import BUILDING
from tb_dataplugin.analyses.wait_parts import TRANSFER
from tb_dataplugin.findings.evidence import Evidence, number, time
from tb_dataplugin.findings.finding import Abstention, Finding
from tb_dataplugin.findings.line_texts import WAITS, place_text
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.sample_signals import BuiltBatch, SampleHabit, SlowSampleSignal
from tb_dataplugin.findings.saving import Saving, saved_in_batches
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import ALL_CACHED, HIDDEN_THREADS, NO_CPU, SLOW_SAMPLES_TOGETHER
from tb_dataplugin.units import count, duration, listed, percent, plural, plural_of
from tb_dataplugin.words import BLOCKED_BY

SHOWN: Final = 5

MOSTLY: Final = 0.5
"""Part of what slow samples take longer than others that is off the CPU, from which waiting is what made them slow."""

OF_DATA: Final = "Look at these {items}: huge or damaged files, long sequences, retries."
OF_TRANSFORM: Final = (
    "See what {stage} does for these {items}: large or long data, a parameter drawn at random, or work that few "
    "{items} need."
)
OF_LOADING: Final = (
    "Only they run {stage}: they load what the {items} after them use (a chunk, a shard, a buffer). Make that faster, "
    "or load the next one ahead in a thread while these are used."
)
OF_START: Final = (
    "Only they run {stage}, once in each DataLoader worker and epoch: they load what all {items} use (a vocabulary, an "
    "index). Load that once before the loop, where DataLoader workers are forked, or keep the workers and what they "
    "have loaded (persistent_workers=True)."
)
AT_LOCK: Final = (
    "{who} did not compute, but waited{line}, where DataLoader workers wait for one another: it may be the turn of any "
    "{item}, whatever its data."
)
AT_LINE: Final = "{who} did not compute, but waited{line}{what}. {see}; {data}."
AS_OTHERS: Final = ", if they wait for a CPU no more than others (estimated)"
ONCE: Final = "look at their data only if the same ones are slow again"
AGAIN: Final = "{which} {are} slow more than once: look at {its} data as well"
SEE: Final = "See why that takes long at times"
SEE_WHAT: Final[dict[WaitedFor, str]] = {
    "sleep": "See what it sleeps for, such as a retry or a rate limit",
    "network": "See why that takes long at times, such as retries or a busy server, or keep a copy on a local disk",
    "lock": "See who has that lock for so long",
    "queue": "See why what it waits for comes late at times",
    "process": SEE,
}


@rule(title="A few slow samples", about="delivery", input_bound=True)
def check(signals: Signals) -> Finding | Abstention | None:
    of = _of_one_loader(signals)
    if of is None or not signals.wait_cost_us or signals.mode != "train":
        return None
    found = _finding(signals, of)
    doubt = "" if found is None else _may_be_for_a_cpu(signals, of)
    if not doubt:
        return found
    return _finding(signals, _by_cpu_time(signals, of)) or Abstention(doubt)


def _finding(signals: Signals, of: _OfOne) -> Finding | None:
    slow, median_us, wait_cost = of.slow, of.habit.median_us, signals.wait_cost_us or 0.0
    saving = _saving(signals, slow, median_us, min(wait_cost, _built_cost(signals, wait_cost)))
    if not slow or saving.us < SLOW_SAMPLES_TOGETHER * wait_cost or 2 * len(slow) >= of.habit.count:
        return None
    has_waited, loading = of.has_waited, _loading(signals, of)
    data = _of_data(of)
    if of.habit.are_even and not loading and not (has_waited and of.has_index):
        return None
    gain = signals.per_step(saving.us)
    whose = " of the DataLoader workers' time" if signals.builds_batches_in_workers else ""
    text = f"median {duration(median_us)}; together they take {duration(of.excess_us)}{whose} more than that"
    is_of_any = has_waited and (of.has_index or not loading)
    return Finding(
        severity=severity(signals, gain, otherwise_us=saving.us),
        title=f"{_how_many(of)} {_take(slow, median_us)}{', mostly waiting' if has_waited else ''}",
        advice=f"{_of_waiting(signals, of) if is_of_any else loading or data}{_order(signals, of.habit.item)}",
        stage=slow[0].stage,
        evidence=(
            time("slow_samples_excess", of.excess_us, f"{text}{AS_OTHERS if of.by_cpu_time else ''}"),
            *_each(of),
            *_not_waited_for(of),
            *_in_doubt(of),
            *_others_as_well(of),
            *saving.why,
        ),
        gain_us_per_step=gain,
        confidence="likely",
        confidence_reason=f"Only the excess of the slowest {plural_of(of.habit.item)} is counted, and the queue may "
        "hide part of it.",
    )


def _of_data(of: _OfOne) -> str:
    """What may make them slow: no file where they computed, in a transform for most of their time."""
    items, names = plural_of(of.habit.item), dict.fromkeys(sample.stage for sample in of.slow)
    is_in_one = all(sample.stage_us >= MOSTLY * sample.duration_us for sample in of.slow)
    if is_in_one and not of.has_waited and all(name.startswith("transform::") for name in names):
        return OF_TRANSFORM.format(stage=listed([*names]), items=items)
    return OF_DATA.format(items=items)


def _may_be_for_a_cpu(signals: Signals, of: _OfOne) -> str:
    """Why, in a sentence; "" also where they were seen to be blocked at a line."""
    blocked = sum(sample.waited_us or 0.0 for sample in of.slow if sample.waited_at is not None)
    if of.has_waited and blocked >= MOSTLY * of.waited_us:
        return ""
    if signals.costs is not None and (signals.costs.run_delay or 0.0) >= NO_CPU:
        return f"DataLoader workers often waited for a CPU, so a slow {of.habit.item} may only have waited for one."
    if any(doubt.code == "busy_machine" for doubt in signals.doubts):
        return f"Other programs used the CPUs, so a slow {of.habit.item} may only have waited for one."
    return ""


def _by_cpu_time(signals: Signals, of: _OfOne) -> _OfOne:
    """Only those whose own CPU time is many times a common one's, each with the time that it would take if it waited
    for a CPU no more than others. Where libraries run hidden threads, a thread that waits for these may spin, and that
    counts as CPU time: none is sure then.
    """
    habit, threads = of.habit, signals.costs.threads if signals.costs else None
    has_hidden = (threads or 0.0) >= HIDDEN_THREADS
    sure = [sample for sample in of.slow if not has_hidden and _computes(sample, habit)]
    each = (replace(sample, duration_us=_as_others(sample, habit), waited_us=None) for sample in sure)
    return replace(
        of,
        known=tuple(sample for sample in of.known if sample.held_up_us != 0 or _computes(sample, habit)),
        slow=sorted(each, key=lambda sample: -sample.duration_us),
        by_cpu_time=tuple(sure),
        in_doubt=len(of.slow) - len(sure),
    )


def _computes(sample: SlowSampleSignal, habit: SampleHabit) -> bool:
    return bool(habit.ran_us and sample.ran_us and sample.ran_us >= SLOW * habit.ran_us)


def _as_others(sample: SlowSampleSignal, habit: SampleHabit) -> float:
    return min(sample.duration_us, (sample.ran_us or 0.0) * max(1.0, habit.common_us / (habit.ran_us or 1.0)))


@dataclass(frozen=True, slots=True)
class _OfOne:
    """Samples of one DataLoader: `known` one by one, the slowest first, of which `slow` are what is wrong."""

    known: tuple[SlowSampleSignal, ...]
    slow: list[SlowSampleSignal]
    habit: SampleHabit
    by_cpu_time: tuple[SlowSampleSignal, ...] = ()
    """The slow ones as they were recorded, where only their CPU time shows that they are."""
    in_doubt: int = 0
    """How many beside these may only have waited for a CPU."""

    @property
    def has_index(self) -> bool:
        return any(sample.index >= 0 for sample in self.known)

    @property
    def excess_us(self) -> float:
        return sum(sample.duration_us - self.habit.median_us for sample in self.slow)

    @property
    def waited_us(self) -> float:
        """Off the CPU, of that excess."""
        return sum(min(sample.waited_us or 0.0, sample.duration_us - self.habit.median_us) for sample in self.slow)

    @property
    def has_waited(self) -> bool:
        return self.waited_us >= MOSTLY * self.excess_us


def _of_one_loader(signals: Signals) -> _OfOne | None:
    """Of that whose slow samples take most more than its others."""
    found = []
    for loader, habit in signals.sample_habits.items():
        known = tuple(sample for sample in signals.slow_samples if sample.loader == loader)
        found.append(_OfOne(known, _slow(signals, known, habit), habit))
    return max(found, key=lambda one: one.excess_us, default=None)


def _slow(signals: Signals, known: Sequence[SlowSampleSignal], habit: SampleHabit) -> list[SlowSampleSignal]:
    """The slowest, as many as have almost all that the outliers take more than others, and those that are as slow."""
    common_us = habit.common_us
    outliers = [
        sample
        for sample in known
        if sample.duration_us >= SLOW * common_us and sample.held_up_us != 0 and not _is_by_place(signals, sample)
    ]
    excess = np.cumsum([sample.duration_us - common_us for sample in outliers])
    most = outliers[: 1 + int(np.searchsorted(excess, ALMOST_ALL * excess[-1]))] if outliers else []
    least_us = _times(most, habit.median_us) * habit.median_us
    return [sample for sample in outliers if sample.duration_us >= min(least_us, most[-1].duration_us)]


def _not_waited_for(of: _OfOne) -> Iterator[Evidence]:
    """As slow, and listed among the slowest samples; that they cost nothing in this window is luck."""
    typical_us = of.habit.median_us
    least = min(_times(of.slow, typical_us) * typical_us, of.slow[-1].duration_us)
    others = [one for one in of.known if one.duration_us >= least and one.held_up_us == 0]
    if others:
        named = [str(one.index) for one in others if one.index >= 0][:SHOWN]
        which = f" (index {listed(named)}{' among them' if len(named) < len(others) else ''})" if named else ""
        whose = f"{plural(len(others), of.habit.item)}{which} whose batches the loop did not wait for here"
        text = f"as slow, and not counted: {whose}"
        yield number("slow_samples_not_waited_for", len(others), "count", text)


def _in_doubt(of: _OfOne) -> Iterator[Evidence]:
    if of.in_doubt:
        text = f"{plural(of.in_doubt, 'other')} took long too, but may only have waited for a CPU: not counted"
        yield number("slow_samples_in_doubt", of.in_doubt, "count", text)


def _others_as_well(of: _OfOne) -> Iterator[Evidence]:
    """Slow ones beyond those that are known one by one."""
    habit, known = of.habit, len(of.known)
    if habit.slow > known and habit.median_us:
        times = math.floor(habit.slow_us / habit.median_us)
        text = f"in all, {count(habit.slow)} {plural_of(habit.item)} take {count(times)}x the median or more"
        text += f", of which the {count(known)} slowest are known one by one"
        yield number("slow_samples_in_all", habit.slow, "count", text)


def _loading(signals: Signals, of: _OfOne) -> str:
    """Where only the slow ones run the stage that makes them slow, later samples live on what it loads; else ""."""
    slow, names = of.slow, {sample.stage for sample in of.slow}
    calls = sum(row.count for row in signals.stages if row.stage.name in names and row.stage.kind != "sample")
    if len(names) == 1 and 0 < calls <= len(slow):
        text = OF_START if _are_starts(signals, slow) else OF_LOADING
        return text.format(stage=slow[0].stage, items=plural_of(of.habit.item))
    return ""


def _are_starts(signals: Signals, slow: list[SlowSampleSignal]) -> bool:
    """Whether each is of the first batch of a DataLoader worker in an epoch, and no two of the same."""
    built = [sample.built for sample in slow if sample.built is not None]
    batches = {(batch.epoch, batch.number) for batch in built}
    is_first = all(0 <= batch.number < (signals.num_workers or 0) for batch in built)
    return is_first and len(batches) == len(built) == len(slow)


def _is_by_place(signals: Signals, sample: SlowSampleSignal) -> bool:
    """The first of an iterator, which may fill a buffer, or of a chunk: any sample is slow there."""
    return sample.first or (signals.kept_loads is not None and sample.stage == signals.kept_loads.stage.name)


def _how_many(of: _OfOne) -> str:
    """Only the slowest ones are known."""
    whole = plural(of.habit.count + sum(sample.before for sample in of.slow), of.habit.item)
    many = count(len(of.slow))
    if of.habit.slow > len(of.known):
        return f"{many} of the slowest among {whole}"
    return f"{many if len(of.slow) < len(of.known) else f'{many} or more'} of {whole}"


def _take(slow: list[SlowSampleSignal], typical_us: float) -> str:
    times = _times(slow, typical_us)
    return f"takes {count(times)}x the median" if len(slow) == 1 else f"take {count(times)}x the median or more"


def _times(slow: list[SlowSampleSignal], typical_us: float) -> int:
    """How many times as long as usual the fastest of them takes, or more."""
    return max(round(SLOW), math.floor(slow[-1].duration_us / typical_us)) if slow and typical_us else round(SLOW)


def _of_waiting(signals: Signals, of: _OfOne) -> str:
    """For what, as far as the lines tell: the one in which most of it was waited."""
    slow, times = of.slow, dict[Place, float]()
    for sample in slow:
        if sample.waited_at is not None:
            times[sample.waited_at] = times.get(sample.waited_at, 0.0) + (sample.waited_us or 0.0)
    place, lock = max(times, key=lambda each: times[each], default=None), signals.shared_lock
    line, who = f" at {place_text(place)}" if place else "", _who(slow, place)
    if lock is not None and lock.row.place == place:
        return AT_LOCK.format(who=who, line=line, item=of.habit.item)
    named = next((sample.waited_for for sample in slow if place is not None and sample.waited_at == place), None)
    data = _data(slow)
    if named is not None:
        return AT_LINE.format(who=who, line=line, what=f", which {WAITS[named]}", see=SEE_WHAT[named], data=data)
    cached = signals.costs.cached if signals.costs else None
    is_memory = cached is not None and cached >= ALL_CACHED
    what = f"{', '.join(BLOCKED_BY[1:])}: what was read was in memory" if is_memory else ", ".join(BLOCKED_BY)
    return AT_LINE.format(who=who, line=line, what=f" ({what})", see=SEE, data=data)


def _data(slow: list[SlowSampleSignal]) -> str:
    """Whether it may be that of these samples."""
    seen = Counter(sample.index for sample in slow if sample.index >= 0)
    again = [index for index, times in seen.items() if times > 1]
    if not again:
        return ONCE
    which = listed([str(index) for index in again[:SHOWN]])
    more = " among others" if len(again) > SHOWN else ""
    is_one = len(again) == 1
    return AGAIN.format(which=f"index {which}{more}", are="is" if is_one else "are", its="its" if is_one else "their")


def _who(slow: list[SlowSampleSignal], place: Place | None) -> str:
    """Those that were seen to wait there: the others may have waited for something else."""
    there = [sample for sample in slow if place is None or sample.waited_at == place]
    if len(there) == len(slow):
        return "They" if len(slow) > 1 else "It"
    names = list(dict.fromkeys(map(_name, there)))
    who = listed(names) if len(names) <= SHOWN else f"{count(len(there))} of them"
    return f"{who[0].upper()}{who[1:]}"


def _saving(signals: Signals, slow: list[SlowSampleSignal], typical_us: float, most_us: float) -> Saving:
    """Did they take as long as the median one."""
    most_us, spent = min(most_us, _held_up(slow, most_us)), dict[BuiltBatch, float]()
    for sample in slow:
        if sample.built is not None:
            spent[sample.built] = spent.get(sample.built, 0.0) + sample.duration_us - typical_us
    if signals.builds_batches_in_workers and spent:
        return saved_in_batches(signals, spent, most_us)
    return Saving(min(most_us, sum(sample.duration_us - typical_us for sample in slow)))


def _order(signals: Signals, item: Item) -> str:
    if not signals.builds_batches_in_workers or (signals.loader is not None and signals.loader.in_order is False):
        return ""
    return f" Batches are handed over in order, so one slow {item} holds back all that follow."


def _built_cost(signals: Signals, wait_cost: float) -> float:
    """The data wait that building batches caused: samples that nobody waited for cost nothing."""
    if signals.waits_by_stage is None:
        return wait_cost
    unknown = sum(one.cost_us for one in signals.waits_by_stage if one.stage is None and one.name != TRANSFER)
    return unknown + sum(one.cost_us for one in signals.waits_by_stage if one.stage and one.stage.kind in BUILDING)


def _held_up(slow: list[SlowSampleSignal], wait_cost: float) -> float:
    """The data wait for their batches and those after them."""
    return max((wait_cost if one.held_up_us is None else one.held_up_us for one in slow), default=0.0)


def _each(of: _OfOne) -> Iterator[Evidence]:
    """The slowest first, each once; how often, of those that were slow several times."""
    slow = of.by_cpu_time or of.slow
    times = Counter(sample.index for sample in slow if sample.index >= 0)
    first = {
        sample.index if sample.index >= 0 else -1 - place: sample for place, sample in reversed([*enumerate(slow)])
    }
    for sample in sorted(first.values(), key=lambda sample: -sample.duration_us)[:SHOWN]:
        yield _evidence(sample, times[sample.index], _ran(sample, of.habit) if of.by_cpu_time else "")


def _evidence(sample: SlowSampleSignal, times: int, ran: str) -> Evidence:
    inside = f"{percent(sample.stage_us / (sample.duration_us + sample.collected_us))} in {sample.stage}"
    more = f" and {duration(sample.collected_us)} of garbage collection" if sample.collected_us else ""
    off = "" if sample.waited_us is None else f", off the CPU for {percent(sample.waited_us / sample.duration_us)}"
    before = ", begun before the window" if sample.before else ""
    often = f", the slowest of {count(times)} times" if times > 1 else ""
    file = f" ({PurePath(sample.files[0]).name})" if sample.index >= 0 and sample.files else ""
    text = f"{_name(sample)}{file}: {duration(sample.duration_us)}{more}{often}{before}, {inside}{off}{ran}"
    return time("slow_sample", sample.duration_us, text, stage=sample.stage)


def _ran(sample: SlowSampleSignal, habit: SampleHabit) -> str:
    common = f"a common {habit.item} has {duration(habit.ran_us or 0.0)}"
    return f", {duration(sample.ran_us or 0.0)} of CPU time, where {common}"


def _name(sample: SlowSampleSignal) -> str:
    """An iterable dataset has no index."""
    if sample.index >= 0:
        return f"index {sample.index}"
    if sample.files:
        return PurePath(sample.files[0]).name
    return f"in batch {sample.batch}" if sample.batch >= 0 else "one"
