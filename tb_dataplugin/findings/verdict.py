"""One sentence that answers why the device is idle, and what kind of bound that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from annotate.trace_format import StageKind
from tb_dataplugin.analyses.inner_loop_texts import inner_loops_clause
from tb_dataplugin.analyses.inner_loops import InnerLoops
from tb_dataplugin.analyses.line_rows import Estimate
from tb_dataplugin.analyses.sawtooth import LoneWait
from tb_dataplugin.analyses.steady_state import SteadyState
from tb_dataplugin.analyses.wait_parts import COLLECTOR, OTHER_LOADER, STARVED, TRANSFER, UNRECORDED
from tb_dataplugin.findings.apart_sentence import apart_sentence
from tb_dataplugin.findings.apart_signals import left_out
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.fed import fed_sentence
from tb_dataplugin.findings.leading import NAMED, leading_place
from tb_dataplugin.findings.limiting import limiting_pace
from tb_dataplugin.findings.line_signals import interval
from tb_dataplugin.findings.lock import lock_sentence, mostly_loads
from tb_dataplugin.findings.lone_gaps import because, where_alone
from tb_dataplugin.findings.rank_signals import ranks_show
from tb_dataplugin.findings.reasons import Bound, Reason
from tb_dataplugin.findings.restart_texts import restart_sentence
from tb_dataplugin.findings.rhythm import lone_clause, rhythm_clause
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageWait
from tb_dataplugin.findings.steady_sentence import in_steady_state, may_be_more
from tb_dataplugin.findings.step_work import around_loader, around_sentence, own_time_sentence, waits_for_ranks
from tb_dataplugin.findings.thresholds import (
    DEVICE_BUSY,
    HIGHLY_INPUT_BOUND,
    INPUT_BOUND,
    LEADING_STAGE,
    ONE_REASON,
    WORKERS_BUSY,
    WORTH_A_WORD,
)
from tb_dataplugin.findings.unrecorded import unrecorded_evidence
from tb_dataplugin.findings.worker_cpus import not_data
from tb_dataplugin.units import duration, percent
from tb_dataplugin.words import cause_label

BOUND_OF_KIND: Final[dict[StageKind, Bound]] = {
    "read": "read",
    "transfer": "transfer",
    "sampler": "sampler",
    "wrapper": "wrapper",
}

NOT_DATA: Final = "the DataLoader is not the bottleneck"
WITH_LOCK: Final = "its batches come in time, at the cost of the training step"
HOLDS_UP: Final = "the DataLoader is the bottleneck"
IN_TIME: Final = "while torch's profiler records, batches come in time"

SHOWN: Final = 3
"""Stages that the evidence names."""

ON_ITS_WAY: Final = "on its way"
"""Of the transfer, what is none of its parts: through the pipe, and threads that wake up."""

NAMED_SHARE: Final = 0.02
"""Share of the data wait below which a stage is not named beside the leading one: nothing follows from it."""

REST: Final = f"the rest of {TRANSFER}, while the batch was on its way"

SAID: Final = {
    UNRECORDED: "unrecorded (no record of what the batch was made of)",
    COLLECTOR: "Python's garbage collector",
    STARVED: "no index yet (not drawn)",
    OTHER_LOADER: "another DataLoader, which is not annotated",
}
"""Parts of the data wait that the evidence names in more words."""

NEARLY_ALL: Final = 0.995
"""Part of the data wait from which a stage has "nearly all of it"; "all of it" where it is written as 100%."""


@dataclass(frozen=True, slots=True)
class Verdict:
    bound: Bound
    sentence: str
    evidence: tuple[Evidence, ...] = ()


def judge_run(signals: Signals) -> Verdict:
    if signals.mode == "replay":
        verdict = _judge_replay(signals)
    elif signals.restarts is not None and signals.restarts_lead:
        bound: Bound = "cpu" if signals.restarts.has_workers else "sampler"
        evidence = (*_cause_evidence(signals), *_wait_evidence(signals))
        verdict = Verdict(bound, restart_sentence(signals, signals.restarts), evidence)
    elif signals.has_device:
        verdict = _judge_device_run(signals)
    else:
        verdict = _judge_host_run(signals)
    if signals.mode != "replay":
        verdict = replace(verdict, sentence=verdict.sentence + own_time_sentence(signals, verdict.bound))
    sentence = _with_apart(signals, f"{verdict.sentence}{_rhythm(signals)}{lock_sentence(signals)}")
    evidence = (*unrecorded_evidence(signals), *verdict.evidence, *(signals.ranks.evidence if signals.ranks else ()))
    return replace(verdict, sentence=sentence, evidence=tuple(_marked(sentence, evidence)))


def _rhythm(signals: Signals) -> str:
    """What means of all steps do not show. The sawtooth of DataLoader workers stands beside the steps only."""
    found, cost = signals.rhythm, signals.measured_share
    if cost is None or cost < INPUT_BOUND or signals.mode == "replay":
        return ""
    if isinstance(found, InnerLoops):
        return f" {inner_loops_clause(found, left_out(signals.apart))}"
    if isinstance(found, LoneWait):
        return f" {lone_clause(found, left_out(signals.apart))}"
    return f" {rhythm_clause(found, left_out(signals.apart))}" if found and not found.of_workers else ""


def _with_apart(signals: Signals, sentence: str) -> str:
    """What is told apart comes first where it has most of the data wait, else last."""
    if signals.apart is None:
        return sentence
    apart = apart_sentence(signals.apart.worth_a_word).rstrip()
    parts = (apart, sentence) if signals.apart.leads else (sentence, apart)
    return " ".join(part for part in parts if part)


def _marked(sentence: str, evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """Evidence with whatever the sentence says already marked."""
    for fact in evidence:
        name = "in collectives" if fact.kind == "collectives" else fact.stage
        name = SAID[OTHER_LOADER] if name == OTHER_LOADER else name
        yield replace(fact, in_sentence=name != "" and name in sentence and percent(fact.value) in sentence)


def _judge_device_run(signals: Signals) -> Verdict:
    idle, cost = signals.share(signals.idle.total_us), signals.loop_share(signals.whole_cost_us)
    assert idle is not None
    opening = signals.idle.of_window(idle)
    evidence = (*_cause_evidence(signals), *_wait_evidence(signals))
    around = around_loader(signals)
    if around is not None and cost is not None and around.part.share >= cost:
        return Verdict("wrapper", around_sentence(signals, around, cost), evidence)
    leader = next(iter(signals.idle_reasons), None)
    if signals.unsteady is not None and cost is not None:
        is_led = leader is not None and leader.name != "data_wait" and leader.share > cost
        return _judge_unsteady(signals, signals.unsteady, cost, opening, evidence, leader if is_led else None)
    if 1 - idle >= DEVICE_BUSY:
        return Verdict("device", f"{opening}: the device is the bottleneck, leave the DataLoader alone.", evidence)
    if cost is not None and cost >= INPUT_BOUND and (leader is None or leader.name == "data_wait"):
        sentence = f"{opening}; for {percent(cost)} of {_rest(signals)} it waits for data{_mostly(signals)}."
        return Verdict(_input_bound(signals), sentence, evidence)
    why = "" if leader is None else f", {because(signals.idle, leader)}"
    alone = where_alone(signals.idle, leader)
    bound: Bound = "unknown" if leader is None else leader.bound
    if cost is None:  # time in Python may then be data wait that nothing marks
        fed = fed_sentence(signals)
        of_what = "that" if leader is not None and leader.name == "host" and not alone else "the idle time"
        unknown = f"how much of {of_what} is data wait is unknown"
        sentence = f"{opening}{why}; {unknown}.{alone}{f' {fed}' if fed else ''}"
        return Verdict("unknown" if leader is None or leader.name == "host" else bound, sentence, evidence)
    if cost < INPUT_BOUND and leader is not None and leader.share < ONE_REASON:
        sentence = f"{opening}, for no single reason: the largest is {_causes(signals)[0]}; {_acquitted(signals)}."
        return Verdict("balanced", sentence, evidence)
    if cost < INPUT_BOUND:
        waits = f"it waits for data for only {percent(cost)} of {_rest(signals)}"
        if not cost:  # a batch may be late all the same, while the device has work or idles for another reason
            waits = f"data wait causes no idle time in {_rest(signals)}"
        sentence = f"{opening}{why}; {waits}: {_acquitted(signals)}."
    else:
        sentence = f"{opening}{why}; for {percent(cost)} of {_rest(signals)} it waits for data{_mostly(signals)}."
    return Verdict(bound, f"{sentence}{alone}", evidence)


def _judge_unsteady(
    signals: Signals,
    unsteady: SteadyState,
    cost: float,
    opening: str,
    evidence: tuple[Evidence, ...],
    leader: Reason | None = None,
) -> Verdict:
    """By the steady state, which the window does not show; `leader`: why the device idles for more than that."""
    if leader is not None:
        opening = f"{opening}, {because(signals.idle, leader)}"
    who = "it" if signals.has_device else "the training thread"
    sentence = in_steady_state(unsteady, cost, who, _time(signals))
    sentence = f"{opening}; {sentence}" if opening else f"{sentence[0].upper()}{sentence[1:]}"
    if leader is not None:
        return Verdict(leader.bound, f"{sentence}.{where_alone(signals.idle, leader)}", evidence)
    if cost >= INPUT_BOUND:
        is_data = signals.has_device or cost >= HIGHLY_INPUT_BOUND
        return Verdict(_input_bound(signals) if is_data else "host", f"{sentence}{_mostly(signals)}.", evidence)
    if not signals.has_device and may_be_more(unsteady, INPUT_BOUND):
        return Verdict("unknown", f"{sentence}: only a longer window can show whether {HOLDS_UP}.", evidence)
    other: Bound = next((reason.bound for reason in signals.idle_reasons if reason.name != "data_wait"), "device")
    return Verdict(other if signals.has_device else "host", f"{sentence}: {_acquitted(signals)}.", evidence)


def _time(signals: Signals) -> str:
    """What the steady state's share is of: of no window."""
    if signals.apart is None:
        return "the time"
    return "the rest of the time" if signals.apart.leads else f"the time without {left_out(signals.apart)}"


def _cause_evidence(signals: Signals) -> tuple[Evidence, ...]:
    """Why the device was idle, in one line; causes below a thousandth of the window are left out."""
    causes = ", ".join(_causes(signals))
    return (Evidence("idle_by_cause", f"idle time by cause, of the window: {causes}"),) if causes else ()


def _causes(signals: Signals) -> list[str]:
    """As the table of causes has them, the largest first; of `launch`, what had been launched before is no fault."""
    shares = {cause: signals.share(time) or 0.0 for cause, time in signals.idle.by_cause_us.items()}
    early = signals.share(signals.idle.launched_early_us) or 0.0
    parts = {"launch": f" ({percent(early)} launched but not started)"} if early >= WORTH_A_WORD else {}
    return [
        f"{cause_label(cause)} {percent(share)}{parts.get(cause, '')}"
        for cause, share in sorted(shares.items(), key=lambda part: -part[1])
        if share >= WORTH_A_WORD
    ]


def _judge_host_run(signals: Signals) -> Verdict:
    cost = signals.measured_share
    if cost is None:
        if fed := fed_sentence(signals):
            return Verdict("unknown", fed)
        if signals.is_cut:
            missing = "before the training thread's records of the DataLoader: data wait is unknown"
            return Verdict("unknown", f"The file is cut off {missing}.")
        return Verdict("unknown", "The trace has neither device activity nor DataLoader spans: data wait is unknown.")
    around = around_loader(signals)
    if around is not None and around.part.share >= cost:
        return Verdict("wrapper", around_sentence(signals, around, cost), _wait_evidence(signals))
    if signals.unsteady is not None and signals.wait_cost_us is not None:
        steady_cost = signals.loop_share(signals.whole_cost_us) or 0.0
        return _judge_unsteady(signals, signals.unsteady, steady_cost, "", _wait_evidence(signals))
    ranks = waits_for_ranks(signals)
    if ranks is not None:
        return _judge_rank(signals, ranks, cost)
    opening = f"The training thread waits for data for {percent(cost)} of {_rest(signals)}"
    if cost < INPUT_BOUND:
        return Verdict("host", f"{opening}: {_acquitted(signals)}.", _wait_evidence(signals))
    if cost < HIGHLY_INPUT_BOUND:
        place = f"in the training step{_or_in_iter(signals)}"
        own = f"The training thread is {place} for {percent(1 - cost)} of {_rest(signals)}"
        sentence = f"{own}, and waits for data for {percent(cost)}{_mostly(signals)}."
        return Verdict("host", sentence, _wait_evidence(signals))
    return Verdict(_input_bound(signals), f"{opening}{_mostly(signals)}.", _wait_evidence(signals))


def _or_in_iter(signals: Signals) -> str:
    """Where that starts DataLoader workers in the window, and is no part of the data wait."""
    starts = signals.apart.starts if signals.apart else None
    persistent = signals.loader.persistent_workers if signals.loader else None
    return (
        " or in iter(loader)" if starts is not None and starts.epochs and starts.lacks_iter and not persistent else ""
    )


def _judge_rank(signals: Signals, ranks: Estimate, cost: float) -> Verdict:
    """One of several ranks without a device, which waits for the others outside its data wait; where it waits for data
    for longer, others may rather wait for it.
    """
    is_measured = ranks.high <= ranks.share  # collectives take no longer, whatever stack samples may say
    seen = "" if is_measured else f" ({interval(ranks)}, by stack samples)"
    mostly = _mostly(signals) if cost >= INPUT_BOUND else ""
    if cost >= ranks.share:
        bound = _input_bound(signals) if cost >= HIGHLY_INPUT_BOUND else "host"
        wait = f"The training thread waits for data for {percent(cost)} of {_rest(signals)}{mostly}"
        others = f"it is in collectives, waiting for other ranks included, for {percent(ranks.share)}{seen}"
        sentence = f"{wait}; {others}. {ranks_show('who waits for whom')}."
        return Verdict(bound, sentence, _wait_evidence(signals))
    others = f"The training thread waits for other ranks, in collectives, for {percent(ranks.share)}"
    sentence = f"{others} of the window{seen}, and for data for {percent(cost)}{mostly}"
    return Verdict("comm", f"{sentence}. {ranks_show('which rank it waits for')}.", _wait_evidence(signals))


def _rest(signals: Signals) -> str:
    """What the share of the loop's data wait is of: behind what is told apart, or before it."""
    if signals.apart is not None and signals.apart.leads:
        return "the rest of the window"
    return f"the {signals.own_window}"


def _acquitted(signals: Signals) -> str:
    """Of the loop: what is told apart before is time that the DataLoader takes as well. Workers that have the CPUs
    which the step waits for are not acquitted, nor a loader that is waited for once nothing is recorded.
    """
    if signals.unrecorded_wait or signals.apart:
        acquitted = IN_TIME if signals.unrecorded_wait else NOT_DATA
        return not_data(signals, f"there, {acquitted}" if signals.apart else acquitted)
    if signals.lock_limits_host and mostly_loads(signals):
        return WITH_LOCK
    return not_data(signals, f"{NOT_DATA}{_nearly(signals)}")


def _nearly(signals: Signals) -> str:
    """A faster step would wait for data then."""
    workers = signals.workers
    if workers is None or not signals.builds_batches_in_workers:
        return ""
    pace = limiting_pace(signals)
    busy = workers.busy if pace is None else min(1.0, workers.busy * workers.skew)
    if busy < WORKERS_BUSY:
        return ""
    who = "its DataLoader worker" if workers.workers == 1 else "its DataLoader workers"
    who = who if pace is None else f"DataLoader worker {pace.slowest}"
    return f", but {who}, busy for {percent(busy)} {workers.of_whole}, could hardly keep up with a faster step"


def _judge_replay(signals: Signals) -> Verdict:
    if not signals.waits_by_stage:
        return Verdict("unknown", "The replay has no stage data, so what the loader spends its time on is unknown.")
    leader = leading_place(signals)
    if leader is None:
        sentence = f"In the replay, no stage takes as much as {percent(LEADING_STAGE)} of the loading time."
        return Verdict(_input_bound(signals), sentence, _wait_evidence(signals))
    sentence = f"In the replay, {percent(leader.share)} of the loading time is spent in {leader.name}."
    return Verdict(_input_bound(signals), sentence, _wait_evidence(signals))


def _mostly(signals: Signals) -> str:
    leader, largest = leading_place(signals), next(iter(signals.waits_by_stage or ()), None)
    if leader is None and largest is not None and (largest.stage is not None or largest.name in NAMED):
        return f"; no stage caused more than {percent(largest.share)} of {_that(signals)} data wait"
    if leader is None or largest is None:
        return "; the trace does not show for which stage"
    part = "most of it" if leader.share > 0.5 else "the largest part" if leader == largest else "part of it"
    known = percent(leader.share)
    if leader.share >= NEARLY_ALL:
        part = "all of it" if known == percent(1.0) else "nearly all of it"
    name = SAID[OTHER_LOADER] if leader.name == OTHER_LOADER else leader.name
    return f", {part} for {name} ({known} of {_that(signals)} data wait)"


def _that(signals: Signals) -> str:
    return "that" if signals.apart else "the"


def _input_bound(signals: Signals) -> Bound:
    """Which part of loading holds the run back: the kind of stages with the largest part of the wait."""
    if signals.waits_by_stage is None:
        return "unknown"
    leader = leading_place(signals)
    if leader is not None:  # the verdict names it: its bound is that of the verdict
        return NAMED.get(leader.name, "cpu") if leader.stage is None else BOUND_OF_KIND.get(leader.stage.kind, "cpu")
    totals: dict[Bound, float] = {}
    for wait in signals.waits_by_stage:
        bound = NAMED.get(wait.name) if wait.stage is None else BOUND_OF_KIND.get(wait.stage.kind, "cpu")
        if bound is not None:
            totals[bound] = totals.get(bound, 0.0) + wait.data_wait_us
    return max(totals, key=lambda bound: totals[bound]) if totals else "unknown"


def is_part_of(whole: StageWait | None, part: StageWait) -> bool:
    """Whether that is the transfer as a whole, and this one of its parts."""
    return whole is not None and whole.stage is None and part.name.startswith(f"{whole.name}::")


def _with_parts(leader: StageWait, others: Iterable[StageWait]) -> Iterator[StageWait]:
    """The transfer as a whole, its parts right behind it, then the rest. A single part says nothing more."""
    rest = [stage for stage in others if stage.name != leader.name]
    parts = [stage for stage in rest if is_part_of(leader, stage) and stage.data_wait_us < leader.data_wait_us]
    yield from (leader, *parts)
    if parts:
        left_us, left = (leader.data_wait_us - sum(part.data_wait_us for part in parts)), leader.share
        left -= sum(part.share for part in parts)
        yield replace(leader, name=f"{leader.name}::{ON_ITS_WAY}", data_wait_us=max(0.0, left_us), share=max(0.0, left))
    yield from (stage for stage in rest if not is_part_of(leader, stage))


def _wait_evidence(signals: Signals) -> tuple[Evidence, ...]:
    facts = []
    wait, exposed = signals.data_wait_us, signals.exposed_wait_us
    if signals.mode != "replay" and wait is not None and exposed is not None:
        parts = f"{duration(exposed)} exposed (device idle), {duration(wait - exposed)} hidden (device busy)"
        facts.append(time("data_wait", wait, f"{signals.own_wait} {duration(wait)}: {parts}"))
    whole = "loading time" if signals.mode == "replay" else signals.own_wait
    leader, largest = leading_place(signals), (signals.waits_by_stage or ())[:SHOWN]
    if leader is not None and leader not in largest:  # the sentence names it: the transfer as a whole
        largest = tuple(_with_parts(leader, largest))
    for stage in largest:
        if stage != leader and stage.share < NAMED_SHARE:
            continue
        has_parts = any(other.name.startswith(f"{TRANSFER}::") for other in signals.waits_by_stage or ())
        name = SAID.get(stage.name, stage.name)
        if stage.name == TRANSFER and stage != leader and has_parts:
            name = REST
        if stage.name.endswith(f"::{ON_ITS_WAY}"):
            unnamed = any(is_part_of(leader, other) and other not in largest for other in signals.waits_by_stage or ())
            name = f"other parts of {TRANSFER}" if unnamed else REST
        name = f"of it {name}" if is_part_of(leader, stage) and name == stage.name else name
        recording = f" (about {duration(stage.profiler_us)} of it recording)" if stage.profiler_us else ""
        text = f"{name}: {duration(stage.data_wait_us)}, {percent(stage.share)} of the {whole}{recording}"
        facts.append(share("wait_by_stage", stage.share, whole, text, stage.name))
    return tuple(facts)
