"""One sentence that answers why the device is idle, and what kind of bound that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from annotate.trace_format import StageKind
from tb_dataplugin.analyses.attribution import STARTUP, STARVED, TRANSFER
from tb_dataplugin.findings.reasons import Bound
from tb_dataplugin.findings.signals import BlamedStage, Signals
from tb_dataplugin.findings.thresholds import DEVICE_BUSY, INPUT_BOUND, ONE_REASON, WORTH_A_WORD
from tb_dataplugin.units import duration, percent

BOUND_OF_KIND: Final[dict[StageKind, Bound]] = {"read": "read", "transfer": "transfer"}


NAMED: Final[dict[str, Bound]] = {TRANSFER: "transfer", STARTUP: "cpu", STARVED: "host"}
"""Blame that is no stage but says something: a slow way home, workers not ready, workers without an index."""

NOT_DATA: Final = "the DataLoader is not the bottleneck"


@dataclass(frozen=True, slots=True)
class Verdict:
    bound: Bound
    sentence: str
    evidence: tuple[str, ...] = ()


def judge(signals: Signals) -> Verdict:
    if signals.mode == "replay":
        return _judge_replay(signals)
    return _judge_device_run(signals) if signals.has_device else _judge_host_run(signals)


def _judge_device_run(signals: Signals) -> Verdict:
    idle, felt = signals.share(signals.idle_us), signals.share(signals.felt_us)
    assert idle is not None
    opening = f"The device is idle for {percent(idle)} of the window"
    evidence = (*_cause_evidence(signals), *_wait_evidence(signals))
    if 1 - idle >= DEVICE_BUSY:
        return Verdict("device", f"{opening}: it is the bottleneck, leave the DataLoader alone.", evidence)
    reasons = signals.idle_reasons
    leader = next(iter(reasons), None)
    if felt is not None and felt >= INPUT_BOUND and (leader is None or leader.name == "data_wait"):
        sentence = f"{opening}; for {percent(felt)} of the window it waits for data{_mostly(signals)}."
        return Verdict(_input_bound(signals), sentence, evidence)
    because = "" if leader is None else f", for {percent(leader.share)} because {leader.words}"
    bound: Bound = "unknown" if leader is None else leader.bound
    if felt is None:  # time in Python may then be a wait for data that nothing marks
        sentence = f"{opening}{because}; how much of that waits for data is unknown."
        return Verdict("unknown" if leader is None or leader.name == "host" else bound, sentence, evidence)
    if felt < INPUT_BOUND and leader is not None and leader.share < ONE_REASON:
        sentence = (
            f"{opening}, for no single reason: the largest is {leader.short}, {percent(leader.share)}; {NOT_DATA}."
        )
        return Verdict("balanced", sentence, evidence)
    if felt < INPUT_BOUND:
        sentence = f"{opening}{because}; it waits for data for only {percent(felt)} of the window: {NOT_DATA}."
    else:
        sentence = f"{opening}{because}; for {percent(felt)} of the window it waits for data{_mostly(signals)}."
    return Verdict(bound, sentence, evidence)


def _cause_evidence(signals: Signals) -> tuple[str, ...]:
    """Why the device was idle, in one line; causes below a thousandth of the window are left out."""
    told = [
        f"{reason.short} {percent(reason.share)}" for reason in signals.idle_reasons if reason.share >= WORTH_A_WORD
    ]
    return (f"idle time by cause, of the window: {', '.join(told)}",) if told else ()


def _judge_host_run(signals: Signals) -> Verdict:
    share = signals.share(signals.wait_us)
    if share is None:
        sentence = "The trace has neither device activity nor DataLoader spans: nothing can be said of the data wait."
        return Verdict("unknown", sentence)
    opening = f"The training thread waits for data for {percent(share)} of the window"
    if share < INPUT_BOUND:
        return Verdict("host", f"{opening}: {NOT_DATA}.", _wait_evidence(signals))
    return Verdict(_input_bound(signals), f"{opening}{_mostly(signals)}.", _wait_evidence(signals))


def _judge_replay(signals: Signals) -> Verdict:
    leader = _leader(signals)
    if leader is None:
        return Verdict("unknown", "The replay has no stage markers, so what the loader spends its time on is unknown.")
    sentence = f"In the replay, {percent(leader.share)} of the time to make a batch is spent in {leader.name}."
    return Verdict(_input_bound(signals), sentence, _wait_evidence(signals))


def _leader(signals: Signals) -> BlamedStage | None:
    """What has the largest part of the wait; None when that is time between all stages."""
    largest = next(iter(signals.blamed or ()), None)
    return largest if largest is not None and (largest.stage is not None or largest.name in NAMED) else None


def _mostly(signals: Signals) -> str:
    leader = _leader(signals)
    if leader is None:
        return "; the trace does not say for which stage"
    part = "most of it" if leader.share > 0.5 else "the largest part"
    return f", {part} for {leader.name} ({percent(leader.share)} of the data wait)"


def _input_bound(signals: Signals) -> Bound:
    """Which part of loading holds the run back: the kind of stages with the largest part of the wait."""
    if signals.blamed is None:
        return "unknown"
    totals: dict[Bound, float] = {}
    for one in signals.blamed:
        bound = NAMED.get(one.name) if one.stage is None else BOUND_OF_KIND.get(one.stage.kind, "cpu")
        if bound is not None:
            totals[bound] = totals.get(bound, 0.0) + one.blame_us
    return max(totals, key=lambda bound: totals[bound]) if totals else "unknown"


def _wait_evidence(signals: Signals) -> tuple[str, ...]:
    lines = []
    if signals.mode != "replay" and signals.wait_us is not None and signals.exposed_us is not None:
        hidden = signals.wait_us - signals.exposed_us
        lines.append(
            f"data wait {duration(signals.wait_us)}: {duration(signals.exposed_us)} while the device was idle, "
            f"{duration(hidden)} hidden behind device work"
        )
    largest = (signals.blamed or ())[:3]
    whole = "loading" if signals.mode == "replay" else "the data wait"
    lines += [f"{one.name}: {duration(one.blame_us)}, {percent(one.share)} of {whole}" for one in largest]
    return tuple(lines)
