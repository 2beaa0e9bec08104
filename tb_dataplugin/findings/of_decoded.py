"""The dataset's own code makes little of what is decoded for a sample, before the first transform gets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from annotate.trace_format import Stage
from tb_dataplugin.findings.apart_signals import left_out
from tb_dataplugin.findings.by_size import by_size
from tb_dataplugin.findings.decoder_advice import decodes_pictures
from tb_dataplugin.findings.evidence import Evidence, share, time
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.hot import stage_line
from tb_dataplugin.findings.leading import most_waited_for
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.sequence import Decoded, Step
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.stage_signals import StageCalls
from tb_dataplugin.findings.thresholds import EARLIER_WORTH, SHRINKS
from tb_dataplugin.findings.whose_code import method_of
from tb_dataplugin.units import duration, percent

OF_PICTURES: Final = (
    "Decode only what {method} keeps, {kept} of the data: use a decoder that crops or scales while it decodes; how "
    "much of the decoding that saves depends on the format."
)
OF_OTHERS: Final = (
    "As far as {method} cuts data away, decode only what it keeps. How much less work that is, is not known: a smaller "
    "dtype (float32 for float64) makes bytes fewer as well, and leaves as many values."
)
_REASON: Final = (
    "This assumes that decoding a part takes as much less as the part is smaller, and that what was measured of a few "
    "decoded images holds for all."
)
ONLY_BYTES: Final = "Only sizes in bytes were recorded, not how many values these are."
_NOT_COUNTED: Final = "not counted: whether they would get shorter as typical ones do is not known"


def decoded_for_little(signals: Signals, steps: Iterable[Step]) -> Finding | None:
    """Where decoding less is worth it."""
    for step in steps:
        decoded, parent = step.decoded, step.calls.path[-2:-1]
        if decoded is None or decoded.ratio > SHRINKS or not parent or parent[0].kind != "sample":
            continue
        cost = signals.wait_cost_us
        if cost and signals.cost_of(by_size(signals, decoded.calls)) * (1 - decoded.ratio) >= EARLIER_WORTH * cost:
            return _finding(signals, step, decoded, parent[0])
    return None


def times_before(signals: Signals, counted: Iterable[StageCalls]) -> Iterator[Evidence]:
    """What the stages before the one that keeps little take."""
    caused = {wait.name: f", {percent(wait.share)} of the {signals.own_wait}" for wait in signals.waits_by_stage or ()}
    names = left_out(signals.apart)
    of_loop = f" without {names}" if names else ""
    for calls in counted:
        name, left = calls.stage.name, calls.of_calls
        if not left:
            continue
        whole_us = calls.self_us / left
        text = f"{name} before it: {duration(whole_us)} self time{of_loop}{caused.get(name, '')}"
        blocked = calls.of_typical - left
        if duration(whole_us * (1 - blocked)) != duration(whole_us):
            text += f"; blocked for {percent(blocked)} of it, which smaller data would not shorten"
        if calls.of_typical < 1:
            text += f"; {percent(1 - calls.of_typical)} of it in exceptional calls, {_NOT_COUNTED}"
        yield time("self_time", calls.self_us, text, stage=name)


def _finding(signals: Signals, step: Step, decoded: Decoded, sample: Stage) -> Finding:
    saving = saved_without(signals, by_size(signals, decoded.calls), part=1 - decoded.ratio)
    are_pictures = all(decodes_pictures(calls.stage.label) for calls in decoded.calls)
    gain = signals.per_step(saving.us) if signals.mode != "replay" and are_pictures else None
    kept, things = percent(decoded.ratio), "images" if are_pictures else "values"
    many = f" ({round(decoded.images)} {things})" if round(decoded.images) > 1 else ""
    between = f"{sample.label.partition('.')[0]}.{method_of(signals, sample)}"
    of_wait = signals.per_step(saving.of_wait_us) if gain else None
    level = severity(signals, of_wait, otherwise_us=saving.us)
    return Finding(
        severity=level if are_pictures or level == "low" else "medium",
        title=f"A sample keeps {kept} of what is decoded for it{many}"
        if are_pictures
        else f"A sample has {kept} of the bytes that are decoded for it{many}",
        advice=(OF_PICTURES if are_pictures else OF_OTHERS).format(method=between, kept=kept),
        stage=most_waited_for(signals, decoded.calls) or decoded.calls[0].stage.name,
        title_stage=sample.name,
        evidence=(
            share("bytes_kept", decoded.ratio, "bytes", _shown(step, decoded, kept, many, between), sample.name),
            *times_before(signals, by_size(signals, decoded.calls) if are_pictures else decoded.calls),
            *stage_line(signals, sample.name),
            *(saving.why if gain else ()),
        ),
        gain_us_per_step=gain,
        confidence="likely" if are_pictures else "possible",
        confidence_reason=_REASON if are_pictures else ONLY_BYTES,
    )


def _shown(step: Step, decoded: Decoded, kept: str, many: str, between: str) -> str:
    label = step.calls.stage.label
    return f"{label} returns {kept} of the bytes that are decoded for a sample{many}: code of {between} is in between"
