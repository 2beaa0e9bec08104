"""Calling small transforms for each sample costs more than their work, where once per batch would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tb_dataplugin.analyses.occupancy import TOO_SHORT_NS
from tb_dataplugin.findings.evidence import Evidence, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.leading import leading_own, most_waited_for
from tb_dataplugin.findings.reader_advice import samples_built
from tb_dataplugin.findings.registry import rule
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.sequence import sequences
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import (
    HEAVY_PART,
    MOSTLY_OVERHEAD,
    PATTERN,
    TINY_CALL_US,
    TINY_TOGETHER,
    WORK_US_PER_BYTE,
)
from tb_dataplugin.units import data_size, duration, percent, plural, significant


@dataclass(frozen=True, slots=True)
class _Small:
    """A transform of short calls on few bytes. `bytes`: per call, of its input or result; `overhead`: part of its self
    time that is more than work on so many bytes takes.
    """

    calls: StageCalls
    bytes: float
    overhead: float

    @property
    def call_us(self) -> float:
        return self.calls.self_us / self.calls.count


@rule(title="Small transforms that could run once per batch", about="samples", replay=True, input_bound=True)
def check(signals: Signals) -> Finding | None:
    if not signals.wait_cost_us or not signals.data_wait_us:
        return None
    small = sorted(_small(signals), key=lambda each: -each.calls.self_us)
    rows = [each.calls for each in small]
    part = _part(signals, small)
    share = sum(calls.data_wait_us or 0.0 for calls in rows) / signals.data_wait_us
    if share * part < TINY_TOGETHER or _has_own_finding(signals, rows):
        return None
    names = ", ".join(dict.fromkeys(calls.stage.label for calls in rows))
    saving = saved_without(signals, rows, part=part)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=part * signals.cost_of(rows)),
        title=f"Calls of small transforms on few bytes caused {percent(share)} of the {signals.own_wait}: {names}",
        advice="Of those that are operations on arrays or tensors of one size, apply what treats every sample alike to "
        "the whole batch, in collate or on the device: the overhead of a call is then paid once per batch.",
        stage=most_waited_for(signals, rows),
        evidence=(*(_evidence(signals, each) for each in small), *(saving.why if gain else ())),
        gain_us_per_step=gain,
        confidence="possible",
        confidence_reason="It was not recorded what they compute, nor whether they treat all samples alike. What calls "
        f"take beyond {duration(WORK_US_PER_BYTE * 1e6)} per MB is counted as overhead.",
    )


def _small(signals: Signals) -> list[_Small]:
    found = []
    for step in (step for sequence in sequences(signals.stages) for step in sequence):
        size = step.bytes_per_call
        if size is None or not _is_tiny(step.calls) or _has_slow_lines(signals, step.calls):
            continue
        beyond_us = _busy_us(step.calls) - size * WORK_US_PER_BYTE * step.calls.count
        if beyond_us >= MOSTLY_OVERHEAD * step.calls.self_us:
            found.append(_Small(step.calls, size, beyond_us / step.calls.self_us))
    return found


def _part(signals: Signals, small: Sequence[_Small]) -> float:
    """Of their time, what goes with one call per batch."""
    whole = sum(each.calls.self_us for each in small)
    size = signals.loader.batch_size if signals.loader else None
    overhead = sum(each.overhead * each.calls.self_us for each in small) / whole if whole else 0.0
    return overhead * (1 - 1 / size) if size else overhead


def _busy_us(calls: StageCalls) -> float:
    """Without what its calls waited for a CPU, or for anything else, where they are long enough to know."""
    use = calls.cpu_use
    if use is None or calls.self_us * 1e3 < TOO_SHORT_NS * calls.count:
        return calls.self_us
    return min(calls.self_us, use.cpu_us)


def _evidence(signals: Signals, each: _Small) -> Evidence:
    calls, samples = each.calls, samples_built(signals)
    often = f" ({significant(calls.count / samples)} per sample)" if samples else ""
    work = duration(each.bytes * WORK_US_PER_BYTE)
    text = (
        f"{calls.stage.label}: {plural(calls.count, 'call')}{often} of {duration(each.call_us)}, on up to "
        f"{data_size(each.bytes)} each, counted as {work} of work"
    )
    return time("call_self_time", each.call_us, text, whole="call", stage=calls.stage.name)


def _has_own_finding(signals: Signals, rows: Sequence[StageCalls]) -> bool:
    """One transform alone whose own finding says the same (`leading_stage`, `further_stages`)."""
    (name, *others) = {calls.stage.name for calls in rows}
    wait = signals.wait_for(name)
    return not others and wait is not None and (wait.share >= HEAVY_PART or wait == leading_own(signals))


def _has_slow_lines(signals: Signals, calls: StageCalls) -> bool:
    """Its lines are known to be about work, such as Python for each token."""
    return any(each.stage == calls.stage.name and each.part.low >= PATTERN for each in signals.patterns)


def _is_tiny(calls: StageCalls) -> bool:
    """A transform with short calls, by its name not random."""
    return (
        calls.stage.kind == "transform"
        and any(above.kind == "sample" for above in calls.path[:-1])
        and "random" not in calls.stage.label.lower()
        and calls.self_us / calls.count <= TINY_CALL_US
    )
