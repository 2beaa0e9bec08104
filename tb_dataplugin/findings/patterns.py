"""What lines of one kind cost, for the rules about them."""

from __future__ import annotations

import re
from typing import Final

from annotate.trace_format import parse_span_name
from tb_dataplugin.analyses.line_patterns import Pattern
from tb_dataplugin.findings.evidence import Evidence, share
from tb_dataplugin.findings.finding import Finding
from tb_dataplugin.findings.line_signals import PatternSignal, interval
from tb_dataplugin.findings.saving import saved_without
from tb_dataplugin.findings.severity import severity
from tb_dataplugin.findings.signals import Signals
from tb_dataplugin.findings.thresholds import INPUT_BOUND, PATTERN
from tb_dataplugin.units import percent, plural

FILLS_SLICES: Final = re.compile(r"\[[^\]]*[:,][^\]]*\]\s*=(?!=)")
"""In a line that fills slices of an array, which is there already."""


def costly(signals: Signals, *patterns: Pattern) -> PatternSignal | None:
    """The lines of these kinds that cost most, where that is worth a change and no chance."""
    found = [each for each in signals.patterns if each.stage and each.pattern in patterns and each.part.low >= PATTERN]
    worst = max(found, key=lambda each: cost_us(signals, each), default=None)
    if worst is None or (signals.loop_share(cost_us(signals, worst)) or 0.0) < INPUT_BOUND:
        return None
    return worst


def cost_us(signals: Signals, found: PatternSignal) -> float:
    """The part of `Signals.wait_cost_us` that these lines have: of their stage's, as much as of its time."""
    wait = signals.wait_for(found.stage)
    return 0.0 if wait is None else wait.cost_us * found.part.share


def finding_about(signals: Signals, found: PatternSignal, *, what: str, advice: str, code: str) -> Finding:
    """`what`: completes "60% of transform::Tokenise ..."."""
    cost, calls = cost_us(signals, found), [row for row in signals.stages if row.stage.name == found.stage]
    wait = signals.wait_for(found.stage)
    saving = saved_without(signals, calls, wait.cost_us if wait else 0.0, part=found.part.share)
    gain = signals.per_step(saving.us) if signals.mode != "replay" else None
    return Finding(
        severity=severity(signals, gain, otherwise_us=cost),
        title=f"{percent(found.part.share)} of {_label(found.stage)} {what}",
        advice=advice,
        evidence=(_evidence(found), *(() if gain is None else saving.why)),
        stage=found.stage,
        gain_us_per_step=gain,
        code=code,
        confidence="likely",
        confidence_reason="What the line does is inferred from its text and from what it calls.",
    )


def _label(stage: str) -> str:
    parsed = parse_span_name(stage)
    return parsed.label if parsed else stage


def _evidence(found: PatternSignal) -> Evidence:
    """Its own share is that of the table of hottest lines."""
    part, whole = found.part, _label(found.stage)
    more = f"; with {plural(found.lines - 1, 'further line')} {percent(part.share)}" if found.lines > 1 else ""
    own = percent(found.share if more else part.share)
    text = f"{found.text}: {own} of {whole}{more}, {interval(part)}, {plural(part.samples, 'stack sample')}"
    return share("hot_line", part.share, whole, text, found.stage)
